"""A board in its boot loader is installed after a tap on Yes; the first try loses its power."""

import base64
import hashlib
import json
import random
import tempfile
import time
from pathlib import Path

from agent.blank.dfu import DFU, FOLDER, INDEX, Element
from image.lib.emulated.bench import Bench
from image.lib.emulated.outside import Outside
from image.lib.emulated.shell import Shell
from image.lib.emulated.usb.boot_loader import BASE, BootLoaderDevice
from image.lib.emulated.usb.cable import Cable
from image.lib.emulated.usb.device import Device
from image.lib.emulated.usb.serial_port import SerialPort
from image.lib.trials.expectation import expect
from tests.fakes.board_sim import BoardSim
from tests.fakes.dfu_file import dfu_file
from tests.fakes.prompt_board import prompt_board

# Its versions are files, as the stand-in has them; those of an F4 lie behind registers
_NAME = "nucleo_h743zi"
_PIECES = (
    Element(BASE, random.Random(1).randbytes(6_000)),  # noqa: S311 - no secret
    Element(BASE + 0x20000, random.Random(2).randbytes(30_000)),  # noqa: S311 - no secret
)
# What its MicroPython calls itself
_MACHINE = "NUCLEO_H743ZI with STM32H743"
# Two erased sectors and some blocks
_CUT_AFTER = 9
_PLACE = "/run/boards-of-a-trial"
_LINE_CHARS = 2_000
# Everything takes longer in an emulated machine
_STEP_S = 300.0


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.chatting()
    bench.cable.unplug()
    _carry(bench.shell)
    begun_s, since = time.monotonic(), len(outside.shown())
    device = BootLoaderDevice(cut_after=_CUT_AFTER)
    cable = _agreed(bench, outside, device)
    outside.wait_for("was not installed", since, _STEP_S)
    expect(not cable.is_plugged, "the board did not lose its power")
    cut_s = time.monotonic() - begun_s
    device = BootLoaderDevice(device.flash)
    cable = _agreed(bench, outside, device)
    bench.until(lambda: device.started_at is not None, "MicroPython was not started", _STEP_S)
    cable.unplug()
    for one in _PIECES:
        at = one.address - BASE
        expect(device.flash[at : at + len(one.content)] == one.content, "the flash is another")
    said = _firmware_after(bench, outside)
    took_s = time.monotonic() - begun_s
    bench.shell.run(f"umount {FOLDER}; rm -r {_PLACE}")
    bench.plug()
    return f"cut after {_CUT_AFTER} blocks ({cut_s:.0f} s), installed after {took_s:.0f} s: {said}"


def _carry(shell: Shell) -> None:
    """Give the running system a file for the board, as `image/build --board` would have."""
    content = dfu_file(_PIECES)
    entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    shell.run(f"mkdir -p {_PLACE}; : >{_PLACE}/text")
    text = base64.b64encode(content).decode()
    for at in range(0, len(text), _LINE_CHARS):
        shell.run(f"printf %s {text[at : at + _LINE_CHARS]} >>{_PLACE}/text")
    shell.run(f"base64 -d {_PLACE}/text >{_PLACE}/{_NAME}{DFU}")
    index = json.dumps({_NAME: entry})
    shell.run(f"printf %s '{index}' >{_PLACE}/{INDEX}; mount --bind {_PLACE} {FOLDER}")


def _plugged(bench: Bench, device: Device) -> Cable:
    cable = Cable(device, bench.guest.port("board"))
    cable.plug()
    return cable


def _agreed(bench: Bench, outside: Outside, device: Device) -> Cable:
    before = outside.questions()
    cable = _plugged(bench, device)
    outside.wait_for_question(before, _STEP_S)
    outside.press("Yes")
    return cable


def _firmware_after(bench: Bench, outside: Outside) -> str:
    """Play MicroPython and then the firmware, as the board would; return what the owner is told."""
    since = len(outside.shown())
    with tempfile.TemporaryDirectory(prefix="blank-") as name:
        flash, world = Path(name) / "flash", Path(name) / "world"
        flash.mkdir()
        world.mkdir()
        with prompt_board(flash, _MACHINE) as path:
            port = SerialPort(Path(path))
            cable = _plugged(bench, port)
            bench.until((flash / "reset").exists, "it was not reset", _STEP_S)
            cable.unplug()
            port.close()
        with BoardSim(world, board=_NAME) as sim:
            port = SerialPort(sim.port.resolve())
            cable = _plugged(bench, port)
            outside.wait_for("Done:", since, _STEP_S)
            cable.unplug()
            port.close()
    (told,) = [one for one in outside.shown()[since:] if one.startswith("Done:")]
    return told
