"""Puts the firmware onto a real board: reach its prompt, copy, compare every hash, start.

Nothing is called done that was not read back from the board and from its greeting.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from firmware.host.bundle import BundledFile, lay_out

# Runs mpremote with these arguments and returns what it printed
Mpremote = Callable[[Sequence[str]], str]

# A file takes a second or two over 115200 baud; all of them together far less than this
MPREMOTE_TIMEOUT_S = 180.0

# What an older firmware left takes the room of the new one. Without main.py first, so that a copy
# that is cut short leaves a board that does nothing.
_CLEAR = """
import os
def gone(path):
    try:
        os.remove(path)
    except OSError:
        pass
gone("main.py")
for folder in ("node/devices", "node"):
    try:
        for name in os.listdir(folder):
            gone(folder + "/" + name)
        os.rmdir(folder)
    except OSError:
        pass
for name in ("frame", "board", "description", "slots"):
    gone(name + ".py")
    gone(name + ".mpy")
gone("slot_a")
gone("slot_b")
"""

_HASHES = """
import binascii, hashlib
for path in {paths!r}:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            chunk = file.read(512)
            if not chunk:
                break
            digest.update(chunk)
    print(binascii.hexlify(digest.digest()).decode(), path)
"""


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


def copy(files: Sequence[BundledFile], port: str, run: Mpremote = mpremote) -> None:
    """Put the files onto the board, which must be at its prompt, and compare what arrived.

    Raises:
        FlashFailed: the board has something else than these files.
    """
    at_board = ["connect", port, "resume"]
    with tempfile.TemporaryDirectory(prefix="barnacle-flash-") as name:
        folder = Path(name)
        lay_out(list(files), folder)
        paths = [folder / file.target for file in files]
        top = [str(path) for path in paths if path.parent == folder and path.name != "main.py"]
        run([*at_board, "exec", _CLEAR])
        run([*at_board, "fs", "cp", *top, ":"])
        run([*at_board, "fs", "cp", str(folder / "main.py"), ":"])
    verify(files, port, run)


def verify(files: Sequence[BundledFile], port: str, run: Mpremote = mpremote) -> None:
    """Compare the board's files with these, by hash.

    Raises:
        FlashFailed: one is missing or different.
    """
    paths = [file.target for file in files]
    said = run(["connect", port, "resume", "exec", _HASHES.format(paths=paths)])
    has = {line.split()[1]: line.split()[0] for line in said.splitlines() if len(line.split()) == 2}
    wrong = [file.target for file in files if has.get(file.target) != digest(file)]
    if wrong:
        raise FlashFailed(f"not as sent: {', '.join(wrong)}; start over")


def restart(port: str, run: Mpremote = mpremote) -> None:
    """Reset the board, which then runs what it was given."""
    run(["connect", port, "resume", "reset"])
