"""Puts the firmware onto a board that runs MicroPython, and checks that it arrived."""

import argparse
import os
import sys
import termios
import time
from pathlib import Path

from serial.tools import list_ports

from agent.blank.board_state import Unsuitable
from agent.blank.carried import START_SUFFIX, require_called
from agent.link.image import CARRIED, SUFFIX
from firmware.host import flash, freeze, prompt
from firmware.host.board_folder import BadBoardFile
from firmware.host.bundle import (
    BundledFile,
    board_file,
    board_names,
    build_number,
    bundle,
    every_board_name,
)
from firmware.host.compiler import CompileFailed
from firmware.host.image import (
    UNCOMPILED,
    board_bundle,
    image_of,
    installed,
    installed_of,
    start_archive,
)
from firmware.host.wire import Silence, Wire

EPILOG = """
Without --board or --port it says which boards it knows and which ports are here.

  scripts/flash                                            what can be done
  scripts/flash --board nucleo_f411re --dry-run            what would be copied
  scripts/flash --board nucleo_f411re --port /dev/ttyACM0  do it
  scripts/flash --board nucleo_f401re --freeze sources     for a MicroPython of your own

The board needs MicroPython 1.24 or newer first: firmware/README.md says how.
"""
NOTHING_PLUGGED_IN = """\
No serial port with a board is here. What to look at:
  - the cable: many USB cables only charge; the board's power light says nothing about data
  - a Black Pill without MicroPython does not appear: hold BOOT0, press NRST, and put MicroPython
    on it first (firmware/README.md)
  - a NUCLEO appears by its ST-Link: use the connector beside the debugger
  - `dmesg | tail` right after plugging it in names what the kernel saw
  - permission: your user must be in the group `dialout` (then log in again)"""
HOW_TO_FREEZE = """\
The sources of build {build} are written. In a checkout of MicroPython, with its cross compiler
(package gcc-arm-none-eabi) and its submodules:
  make -C mpy-cross
  make -C ports/stm32 BOARD=... FROZEN_MANIFEST={manifest}
BOARD is the name of the board there; firmware/boards/README.md lists them. Put build-*/firmware.dfu
onto the board with `dfu-util -a 0 -s 0x08000000:leave -D`, or firmware.hex by its ST-Link.
The board greets with that build number; nothing has to be copied."""
_FAILURES = (
    *(flash.FlashFailed, Unsuitable, prompt.NoPrompt),
    *(CompileFailed, Silence, BadBoardFile),
)
# Reset, boot window and first pass; a USB board must also be seen anew
START_LIMIT_S = 10.0


def main() -> int:
    given = _arguments()
    if given.images:
        return _make_images()
    if given.board and given.freeze:
        return _freeze(given.board, given.freeze)
    if given.board is None or (given.port is None and not given.dry_run):
        _say_what_is_here()
        if given.board is None and given.port is None:
            return 0
        missing = "--port PORT" if given.board else "--board NAME"
        sys.stderr.write(f"flash: nothing was written: add {missing}\n")
        return 2
    try:
        if given.dry_run:
            _list(installed(given.board))
        else:
            _flash(given.board, given.port)
    except _FAILURES as err:
        sys.stderr.write(f"flash: {err}\n")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="flash",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    real = [name for name in every_board_name() if name != "simulated"]
    parser.add_argument("--board", choices=real, help="which board it is")
    parser.add_argument("--port", metavar="PORT", help="where it is, such as /dev/ttyACM0")
    parser.add_argument(
        "--images", action="store_true", help="make the images for `barnacle board update`, and end"
    )
    parser.add_argument(
        "--freeze",
        type=Path,
        metavar="FOLDER",
        help="write the sources that a MicroPython with the firmware in itself is built from, "
        "say how, and end",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be copied, and end")
    return parser.parse_args()


def _list(files: list[BundledFile]) -> None:
    for line in flash.listing(files):
        _say(line)


def _flash(board: str, port: str) -> None:
    _require_rights(port)
    prompt.reach(port, hint=_say)
    files = put(board, port)
    _say(f"{len(files)} files are on the board, every hash compared")
    flash.restart(port)
    build = build_number(bundle(board)[:-1])
    name, running = _greeted(port)
    if (name, running) != (board_file(board).NAME, build):
        raise flash.FlashFailed(f"{name} build {running} answers, not build {build}")
    _say(f"{name} runs build {build}")


def put(board: str, port: str, run: flash.Mpremote = flash.mpremote) -> list[BundledFile]:
    """Judge what answers at the prompt, and copy the firmware onto it; return its files.

    Raises:
        FlashFailed, Unsuitable: it is not there; the text says why and what to do.
    """
    found = flash.state(port, run)
    names = {name: getattr(board_file(name), "MACHINES", ()) for name in {*board_names(), board}}
    require_called(board, found.machine, names)
    files = installed(board, found.place)
    found.require_room(board, files, is_beside=True)
    flash.require_writable(board, port, found, run)
    _list(files)
    flash.copy(files, port, found, run)
    return files


def _require_rights(port: str) -> None:
    """Raise FlashFailed when this user may not use the port."""
    if Path(port).exists() and not os.access(port, os.R_OK | os.W_OK):
        raise flash.FlashFailed(
            f"you may not use {port}: `sudo usermod -aG dialout $USER`, then log in again"
        )


def _greeted(port: str) -> tuple[str, int]:
    """Return the name that the started firmware gives itself."""
    until_s = time.monotonic() + START_LIMIT_S
    while True:
        try:
            with Wire(port) as wire:
                wire.greet()
                return wire.name, int(wire.greeting[5])
        except (Silence, OSError, termios.error) as err:
            if time.monotonic() > until_s:
                raise Silence("the files are there, but the firmware does not answer") from err
            time.sleep(0.2)


def _freeze(board: str, folder: Path) -> int:
    try:
        manifest = freeze.write(board, folder)
    except (OSError, BadBoardFile) as err:
        sys.stderr.write(f"flash: {err}\n")
        return 1
    _say(HOW_TO_FREEZE.format(manifest=manifest.absolute(), build=freeze.build(board)))
    return 0


def _make_images() -> int:
    """One image for every board, where the agent looks for them.

    A file of one's own with a mistake in it keeps the other boards from nothing.
    """
    CARRIED.mkdir(exist_ok=True)
    ours = board_names()
    for name in ours:
        files = _make_image(name)
        if name not in UNCOMPILED:
            (CARRIED / f"{name}{START_SUFFIX}").write_bytes(
                start_archive(name, installed_of(name, files))
            )
    for name in every_board_name():
        if name not in ours:
            try:
                _make_image(name)
            except (BadBoardFile, CompileFailed) as err:
                sys.stderr.write(f"flash: no image for {name}: {err}\n")
    return 0


def _make_image(name: str) -> list[BundledFile]:
    """Write the image of a board, and return the files that it is made of."""
    files = board_bundle(name)
    content = image_of(name, files)
    (CARRIED / f"{name}{SUFFIX}").write_bytes(content)
    _say(f"{len(content):6}  {CARRIED / name}{SUFFIX}")
    return files


def _say_what_is_here() -> None:
    _say("Boards:")
    for name in every_board_name():
        if name != "simulated":
            _say(f"  {name}")
    ports = [port for port in list_ports.comports() if port.vid is not None]
    if not ports:
        _say(NOTHING_PLUGGED_IN)
        return
    _say("Ports:")
    for port in ports:
        _say(f"  {port.device}  {port.description}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
