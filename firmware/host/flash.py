"""Puts the firmware onto a real board: ask what it has, copy, compare every hash, start.

Nothing is called done that was not read back from the board and from its greeting.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.blank.board_state import OWN_FILES, QUESTION, SLOTS, FlashState, read_state
from agent.blank.copying import CLEAR, HASHES, format_program, wrong_files
from firmware.host.bundle import BundledFile, lay_out
from firmware.host.image import in_slot

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
            text=True,
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
    if found.holds_beside(files):
        _copy_beside(files, port, found, run)
        return
    if found.holds(files):
        _clear(port, OWN_FILES, run)
    else:
        run(["connect", port, "resume", "exec", format_program()])
    main = [file for file in files if file.target == "main.py"]
    _send([file for file in files if file not in main], port, run)
    _send(main, port, run)
    verify(files, port, run)


def _copy_beside(files: Sequence[BundledFile], port: str, found: FlashState, run: Mpremote) -> None:
    slot, number = found.next_slot()
    image = [in_slot(file, slot, number) for file in files if file.target in SLOTS]
    programs = [file for file in files if file.target not in SLOTS]
    fresh = [BundledFile(file.target + _FRESH, file.content) for file in programs]
    _send([*image, *fresh], port, run)
    verify([*image, *fresh], port, run)
    paths = [file.target for file in programs]
    run(["connect", port, "resume", "exec", _SWITCH.format(paths=paths, fresh=_FRESH)])
    _clear(port, [path for path in OWN_FILES if path not in {*paths, *SLOTS}], run)
    verify([*image, *programs], port, run)


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
