"""The Pi's own pins and its I2C bus, used by the agent through gpiozero with lgpio and smbus2.

An emulated machine has a PL061 for the pins and no bus: an adapter on USB stands for it.
"""

import json

from image.lib.emulated.bench import Bench
from image.lib.emulated.usb.i2c_adapter import CHIP, REGISTERS
from image.lib.trials.expectation import expect

_BUS = "/dev/i2c-0"
# The register with its upper limit
_LIMIT = 2
_FACTORY = REGISTERS[_LIMIT] >> 8


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.chatting()
    shell = bench.shell
    bench.until(lambda: _BUS in shell.run(f"ls {_BUS}"), f"there is no {_BUS}", 30.0)
    nodes = shell.run(f"stat -c '%n %G %a' {_BUS} /dev/gpiochip0")
    expect(f"{_BUS} i2c 660" in nodes and "gpiochip0 gpio 660" in nodes, f"rights: {nodes}")
    outside.ask('use gpio_write {"pin": "lamp", "value": "on"}', '"value":"on"')
    held = shell.run("cat /sys/kernel/debug/gpio | grep -i 'gpio-5 \\|lg'")
    outside.ask('use gpio_write {"pin": "lamp", "value": "off"}', '"value":"off"')
    outside.ask('use i2c_scan {"bus": 0}', f"{CHIP:02x}")
    outside.ask('use i2c_read {"device": "thermometer", "register": 0, "count": 2}', "19 80")
    write = {"device": "thermometer", "register": _LIMIT, "bytes": "4c 00"}
    # The conversation holds what a chip has said by now: the owner is asked
    before, since = outside.questions(), len(outside.shown())
    outside.write(f"use i2c_write {json.dumps(write)}")
    outside.wait_for_question(before)
    expect(bench.bus.registers[2 * _LIMIT] == _FACTORY, "written before anybody had said yes")
    outside.press("Yes")
    outside.wait_for("written", since)
    limit = bench.bus.registers[2 * _LIMIT : 2 * _LIMIT + 2]
    expect(limit == b"\x4c\x00", f"the chip did not keep what was written: {limit.hex()}")
    # What comes after is on the owner's word alone again
    outside.ask("/new", "A new conversation.")
    expect({"out", "hi"} <= {*held.split()}, f"the pin did not move: {held}")
    return (
        f"lamp on and off ({' '.join(held.split())}); thermometer found at 0x{CHIP:02x}, read, and "
        "written by a tap"
    )
