"""Puts the firmware onto a real board: ask what it has, copy, compare every hash, start.

Nothing is called done that was not read back from the board and from its greeting.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.blank.board_state import (
    OWN_FILES,
    QUESTION,
    SLOTS,
    FlashState,
    SlotPlace,
    Unsuitable,
    read_state,
)
from agent.blank.copying import (
    CLEAR,
    HASHES,
    PROBE,
    PROGRAMMED,
    erase_program,
    format_program,
    slot_hash_program,
    write_program,
    wrong_files,
    wrong_slot,
)
from firmware.host.bundle import BundledFile, lay_out
from firmware.host.image import in_slot, slot_sources
from firmware.host.shrink import shrunk

# Runs mpremote with these arguments and returns what it printed
Mpremote = Callable[[Sequence[str]], str]

# A file takes a second or two over 115200 baud; all of them together far less than this
MPREMOTE_TIMEOUT_S = 180.0

# FAT has no rename that replaces. The programs that start the slots are alike in all versions, so
# that whatever a cut leaves of them starts either slot.
_SWITCH = """
import os
for path in {paths!r}:
    try:
        os.remove(path)
    except OSError:
        pass
    os.rename(path + "{fresh}", path)
"""
_FRESH = ".new"

# Modules that know where the slots are, before there are files of them
_MODULES = """
import binascii, hashlib, sys
class Module:
    def __getattr__(self, name):
        if self.asked is None:
            raise AttributeError(name)
        return self.asked(name)
for name, text in {sources!r}:
    space = {{}}
    exec(text, space)
    sys.modules[name] = made = Module()
    made.asked = space.pop("__getattr__", None)
    for one in space:
        setattr(made, one, space[one])
import raw_slots
"""
# What MicroPython compiles at once has room beside a copy of itself
_PIECE_BYTES = 6_144


class FlashFailed(Exception):
    """The firmware is not on the board; the text says why and what to do."""


def mpremote(arguments: Sequence[str]) -> str:
    """The real one.

    Raises:
        FlashFailed: it could not talk to the board.
    """
    try:
        done = subprocess.run(  # noqa: S603  - of this environment, with our arguments
            [sys.executable, "-m", "mpremote", *arguments],
            capture_output=True,
            # A name on the board's drive is in whatever code page its computer had
            encoding="utf-8",
            errors="replace",
            timeout=MPREMOTE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as err:
        raise FlashFailed(
            "the board stopped answering; press its reset button, start over"
        ) from err
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise FlashFailed(f"mpremote: {said}")
    return done.stdout


def listing(files: Sequence[BundledFile]) -> list[str]:
    """Return the files to copy, one a line: hash, size and path."""
    return [f"{digest(file)}  {len(file.content):6}  {file.target}" for file in files]


def digest(file: BundledFile) -> str:
    return hashlib.sha256(file.content).hexdigest()


def state(port: str, run: Mpremote = mpremote) -> FlashState:
    """Ask the board, which must be at its prompt, what it is and has."""
    return read_state(run(["connect", port, "resume", "exec", QUESTION]))


def require_writable(board: str, port: str, found: FlashState, run: Mpremote = mpremote) -> None:
    """Program a word of the flash where the firmware is to be, in a place that nobody uses.

    Raises:
        Unsuitable: it did not take it.
    """
    if found.place is not SlotPlace.WORDS:
        return
    try:
        said = run(["connect", port, "resume", "exec", _modules(found.place) + PROBE]).strip()
    except FlashFailed as err:
        said = str(err)
    if said.split()[-1:] != [PROGRAMMED]:
        raise Unsuitable(
            f"its flash cannot be written beside the file system ({said[-100:]!r}), and in it a"
            f" power cut could cost the configuration: `scripts/flash --board {board} --freeze"
            " FOLDER` makes what a MicroPython with the firmware frozen in is built from"
        )


def copy(
    files: Sequence[BundledFile], port: str, found: FlashState, run: Mpremote = mpremote
) -> None:
    """Put the files onto the board, which must be at its prompt, and compare what arrived.

    Where there is room the new version is written beside the old one, and takes over once it is
    proven. Where there is not, the old one goes first: a copy that is cut short leaves a board that
    does nothing but wait at its prompt.

    Raises:
        FlashFailed: the board has something else than these files.
    """
    if found.place is not SlotPlace.FILES:
        _copy_into_slot(files, port, found, run)
        return
    if found.holds_beside(files):
        _copy_beside(files, port, found, run)
        return
    if found.holds(files):
        _clear(port, OWN_FILES, run)
    else:
        _execute(port, format_program(found), run)
    main = [file for file in files if file.target == "main.py"]
    _send([file for file in files if file not in main], port, run)
    _send(main, port, run)
    verify(files, port, run)


def _copy_into_slot(
    files: Sequence[BundledFile], port: str, found: FlashState, run: Mpremote
) -> None:
    """Put the version into a slot that is no file: the other one, where there are two."""
    slot, number = found.next_slot() if found.has_second else (SLOTS[0], 1)
    if not found.is_laid_out:
        slot, number = SLOTS[0], 1
        _execute(port, format_program(found), run)
    image = next(in_slot(file, slot, number) for file in files if file.target in SLOTS)
    _write_slot(image, found.place, port, run)
    _switch([file for file in files if file.target not in SLOTS], [], SLOTS, port, run)


def _write_slot(image: BundledFile, place: SlotPlace, port: str, run: Mpremote) -> None:
    """Write and compare; its head comes last, because that is what makes it one to start."""
    slot, modules = SLOTS.index(image.target), _modules(place)
    _execute(port, modules + erase_program(slot), run)
    starts = [*range(_PIECE_BYTES, len(image.content), _PIECE_BYTES), 0]
    for at in starts:
        piece = image.content[at : at + _PIECE_BYTES]
        _execute(port, modules + write_program(slot, at, piece), run)
    asked = slot_hash_program(slot, len(image.content))
    if wrong_slot(image, _execute(port, modules + asked, run)):
        raise FlashFailed(f"not as sent: {image.target}; start over")


def _modules(place: SlotPlace) -> str:
    """Return a program that imports the modules of that place from their own text."""
    sources = shrunk(slot_sources(place))
    told = [(file.target.removesuffix(".py"), file.content.decode()) for file in sources]
    return _MODULES.format(sources=told)


def _copy_beside(files: Sequence[BundledFile], port: str, found: FlashState, run: Mpremote) -> None:
    slot, number = found.next_slot()
    image = [in_slot(file, slot, number) for file in files if file.target in SLOTS]
    programs = [file for file in files if file.target not in SLOTS]
    _switch(programs, image, (), port, run)


def _switch(
    programs: Sequence[BundledFile],
    image: Sequence[BundledFile],
    gone: Sequence[str],
    port: str,
    run: Mpremote,
) -> None:
    """Write all beside what is there, compare, and put the programs into its place.

    Args:
        image: files that stay what they are called.
        gone: files that are left over, beside those of older versions.
    """
    fresh = [BundledFile(file.target + _FRESH, file.content) for file in programs]
    _send([*image, *fresh], port, run)
    verify([*image, *fresh], port, run)
    paths = [file.target for file in programs]
    _execute(port, _SWITCH.format(paths=paths, fresh=_FRESH), run)
    kept = {*paths, *SLOTS} - set(gone)
    _clear(port, [path for path in OWN_FILES if path not in kept], run)
    verify([*image, *programs], port, run)


def _execute(port: str, program: str, run: Mpremote) -> str:
    return run(["connect", port, "resume", "exec", program])


def _send(files: Sequence[BundledFile], port: str, run: Mpremote) -> None:
    with tempfile.TemporaryDirectory(prefix="barnacle-flash-") as name:
        folder = Path(name)
        lay_out(list(files), folder)
        paths = [str(folder / file.target) for file in files]
        run(["connect", port, "resume", "fs", "cp", *paths, ":"])


def _clear(port: str, paths: Sequence[str], run: Mpremote) -> None:
    run(["connect", port, "resume", "exec", f"{CLEAR}clear({list(paths)!r})\n"])


def verify(files: Sequence[BundledFile], port: str, run: Mpremote = mpremote) -> None:
    """Compare the board's files with these, by hash.

    Raises:
        FlashFailed: one is missing or different.
    """
    paths = [file.target for file in files]
    said = run(["connect", port, "resume", "exec", HASHES.format(paths=paths)])
    if wrong := wrong_files(files, said):
        raise FlashFailed(f"not as sent: {', '.join(wrong)}; start over")


def restart(port: str, run: Mpremote = mpremote) -> None:
    """Reset the board, which then runs what it was given."""
    run(["connect", port, "resume", "reset"])
