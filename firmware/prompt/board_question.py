# Asks a board at MicroPython's prompt what it has, and prints that as one line of JSON.
#
# Nothing is driven but its own LEDs, for a moment. Every other pin stays an input, and one that
# MicroPython itself is using is left alone. Runs before any firmware is there.

import gc
import json
import os
import sys

import machine
import pyb
import stm

# One that has an interrupt of its own and, on most chips, no channel that anybody needs
_TIMERS = (17, 11, 7, 6, 14)
_ALTERNATE = "mode=Pin.ALT"
_DRIVEN = "mode=Pin.OUT"
_LEDS_MOST = 4
_BLOCK_BYTES = 512
# Of the real-time clock; the newest chips have theirs elsewhere, where Python does not name them
_BACKUP_REGISTER = "RTC_BKP"


def _own(names):
    return [name for name in dir(names) if not name.startswith("_")]


def _can_measure(pin):
    try:
        machine.ADC(pin)
    except (ValueError, TypeError):
        return False
    pin.init(machine.Pin.IN)
    return True


def _levels(pins):
    return {name: pin.value() for name, pin in pins.items() if _DRIVEN in repr(pin)}


def _lights(pins):
    # By what changes when MicroPython lights one; the first is the one that it lights by itself
    found = []
    for number in range(1, _LEDS_MOST + 1):
        try:
            light = pyb.LED(number)
        except (AttributeError, ValueError):
            break
        light.off()
        dark = _levels(pins)
        light.on()
        lit = _levels(pins)
        light.off()
        found.extend([[name, lit[name]] for name in lit if lit[name] != dark.get(name)])
    return found


def _button():
    # Whether it is pressed now: which level that is, the computer reads from the pin's
    try:
        return bool(pyb.Switch().value())
    except AttributeError:
        return None


def _timer():
    for number in _TIMERS:
        try:
            pyb.Timer(number, freq=100).deinit()
        except (ValueError, OSError):
            continue
        return number
    return 0


def _backup_register():
    # The address of the last one: nobody else counts there. 0 where there is none, or where it
    # keeps nothing, as without the clock
    names = [name for name in dir(stm) if name.startswith(_BACKUP_REGISTER) and name[-1] == "R"]
    if not names:
        return 0
    last = max(names, key=lambda name: int(name[len(_BACKUP_REGISTER) : -1]))
    register = stm.RTC + getattr(stm, last)
    before = machine.mem32[register]
    machine.mem32[register] = before ^ 1
    is_kept = machine.mem32[register] == before ^ 1
    machine.mem32[register] = before
    return register if is_kept else 0


def _has_thermometer():
    try:
        sensors = pyb.ADCAll(12, 0x70000)
        sensors.read_core_vref()
        return -50 < sensors.read_core_temp() < 150
    except (AttributeError, ValueError):
        return False


def _console():
    # The UART of the prompt, 0 where it is on USB
    uart = pyb.repl_uart()
    return int(repr(uart).split("(")[1].split(",")[0]) if uart else 0


def _blocks():
    try:
        return pyb.Flash(start=0).ioctl(4, 0)
    except (AttributeError, OSError):
        pass
    # Some boards have files, and no name for their flash (B-L475E-IOT01A)
    try:
        size = os.statvfs("/flash")
    except OSError:
        return 0
    return size[1] * size[2] // _BLOCK_BYTES


def _told(pin):
    timers = [repr(one).split("_")[-1] for one in pin.af_list() if "_TIM" in repr(one)]
    busy = _ALTERNATE in repr(pin)
    analog = not busy and _DRIVEN not in repr(pin) and _can_measure(pin)
    return {
        "names": pin.names(),
        "timers": timers,
        "busy": busy,
        "adc": analog,
        "level": 0 if busy else pin.value(),
    }


def main():
    cpu = {name: getattr(machine.Pin.cpu, name) for name in _own(machine.Pin.cpu)}
    # Only what leads somewhere has a name on the board
    named = [getattr(machine.Pin.board, name).name() for name in _own(machine.Pin.board)]
    lights = _lights(cpu)
    print(  # noqa: T201  - the answer
        json.dumps(
            {
                "board": sys.implementation._machine,  # noqa: SLF001  - its own name for it
                "version": sys.implementation.version[:2],
                "heap_bytes": gc.mem_free() + gc.mem_alloc(),
                "flash_blocks": _blocks(),
                "console": _console(),
                "timer": _timer(),
                "backup_register": _backup_register(),
                "has_thermometer": _has_thermometer(),
                "lights": lights,
                "pressed": _button(),
                "pins": {name: _told(cpu[name]) for name in cpu if name in named},
            }
        )
    )


main()
