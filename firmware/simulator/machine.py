# Stands in for MicroPython's machine module: the hardware of a board that is not there.
#
# Only what the firmware uses. Every change of a driven pin goes into the record.

import board
import interrupts
import things
import wires
import world
from peripherals import (  # noqa: F401  - of this module for the firmware
    PWM,
    BridgeUART,
    SoftI2C,
    SoftSPI,
    bitstream,
    time_pulse_us,
)
from quantity import SUPPLY_V

PWRON_RESET = 1
HARD_RESET = 2
WDT_RESET = 3
DEEPSLEEP_RESET = 4
SOFT_RESET = 0

_U16_FULL = 65535


class Pin:
    IN = 0
    OUT = 1
    OPEN_DRAIN = 2
    PULL_NONE = 0
    PULL_UP = 1
    PULL_DOWN = 2
    IRQ_RISING = 1
    IRQ_FALLING = 2

    def __init__(self, name, mode=-1, pull=PULL_NONE, *, value=None):
        self._name = name
        if mode != -1:
            things.wake("pin", name)
        self._pull = pull
        self._level = 0
        self._mode = -1
        if mode != -1:
            self.init(mode, pull, value)

    @property
    def name(self):
        return self._name

    def init(self, mode, pull=PULL_NONE, value=None):
        with interrupts.step:
            self._pull = pull
            if value is not None:
                self._level = value
            if mode == self.OUT:
                world.record_pin(self._name, self._level)
            self._mode = mode

    def value(self, level=None):
        if level is not None:
            with interrupts.step:
                if self._mode == self.OUT and level != self._level:
                    world.record_pin(self._name, level)
                self._level = level
            if interrupts.step.in_interrupt:
                with interrupts.step:
                    self._show(level)
            else:
                self._show(level)
            return None
        with interrupts.step:
            return self._seen()

    def _show(self, level):
        # To what hangs there, which may allocate
        thing = things.at(self._name, "line")
        if thing and self._mode in (self.OUT, self.OPEN_DRAIN):
            thing.line(level)

    def _seen(self):
        shown = things.shown_at(self._name)
        if shown is not None:
            return shown
        idle = 1 if self._pull == self.PULL_UP or things.is_pulled_up(self._name) else 0
        driven = self._level if self._mode == self.OUT else None
        return world.level(self._name, driven, idle)

    def irq(self, handler=None, trigger=IRQ_FALLING | IRQ_RISING, *, hard=False):
        def edge(level):
            if trigger & (self.IRQ_RISING if level else self.IRQ_FALLING):
                handler(self)

        world.interrupt(self._name, handler and edge, self.value())


class ADC:
    def __init__(self, pin):
        self._name = pin.name

    def read_u16(self):
        volts = world.analog(self._name)
        return max(0, min(_U16_FULL, round(volts / SUPPLY_V * _U16_FULL)))


class WDT:
    def __init__(self, timeout):
        world.watch(timeout)

    def feed(self):
        world.feed()


def UART(number, _baudrate=0, *, rxbuf=0, **_settings):  # noqa: N802  - MicroPython's name
    return LinkStream() if number == board.LINK[1] else BridgeUART(number, rxbuf)


class LinkStream:
    # The interpreter's end of the pseudo-terminal, as a UART or as USB.

    def __init__(self):
        self._stream = wires.PTY

    def init(self, baudrate, **_settings):
        world.record({"event": "rate", "baud": baudrate})

    def flush(self):
        pass

    def any(self):
        return wires.pty_has_bytes()

    def read(self, limit):
        return self._stream.read(limit)

    def readinto(self, buffer):
        # A stopped board has its cable pulled: nobody may renew a lease any more
        return None if world.is_stopping() else self._stream.readinto(buffer)

    def write(self, data, length):
        return length if world.is_stopping() else self._stream.write(data, length)


class _Memory:
    # Registers that keep what is written into them.

    def __init__(self):
        self._words = {}

    def __getitem__(self, address):
        return self._words.get(address, world.boot_count() - 1)

    def __setitem__(self, address, word):
        self._words[address] = word


mem32 = _Memory()


def disable_irq():
    interrupts.step.__enter__()
    return True


def enable_irq(_state):
    interrupts.step.__exit__(None, None, None)


def reset():
    wires.restart()


def reset_cause():
    return world.reset_cause()


def unique_id():
    return b"SIMULATED-01"


def idle():
    # The world moves on in every pass anyway: what the Pi says does not wait for it
    if not wires.wait(world.until_next_step_ms()):
        world.play()
        world.listen()
