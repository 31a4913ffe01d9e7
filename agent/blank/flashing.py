"""Program that writes MicroPython through a board's boot loader: dfu-util, read back, compared.

Started as `python -m agent.blank.flashing BOARD PORT`; systemd gives it the words on a connection
instead (`barnacle-board@.service`). Prints one JSON object a line, the last one with the end. It
may be ended at any time: the boot loader is in ROM, and the next run begins with the first block.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.blank.boot_loader import USB_ID
from agent.blank.carried import checked_dfu
from agent.blank.dfu import FOLDER, Element
from agent.errors import BarnacleError

_PROGRAM = "dfu-util"
# Half a megabyte takes some 20 s; a sector may be erased for 4 s on the way
STEP_LIMIT_S = 240.0
_START_ADDRESS = 0x08000000
_PERCENT = re.compile(r"(Erase|Download|Upload)\s.*?(\d+)%")
_SHARES = {"Erase": "erasing", "Download": "writing", "Upload": "comparing"}
# A board's name, and a port of USB
_WORDS = re.compile(r"([a-z0-9_]{1,48}) (\d+-\d+(?:\.\d+)*)")
_MAX_LINE_BYTES = 200
_REPORT_FROM_PERCENT = 10


class FlashingFailed(BarnacleError):
    """MicroPython is not on the board; the text says why and what to do."""


class Progress(Struct, frozen=True, omit_defaults=True):
    """One line of the program: a step and how far it is, or the end.

    Args:
        failed: why it did not work; empty where it goes on.
    """

    step: str = ""
    percent: int = 0
    is_done: bool = False
    failed: str = ""


OnProgress = Callable[[Progress], None]


class DfuUtil:
    """dfu-util for one boot loader.

    Args:
        port: the port of USB that the boot loader is at.
        program: the command; another one for tests.
    """

    def __init__(self, port: str, on_progress: OnProgress, program: Sequence[str] = ()) -> None:
        self._on_progress = on_progress
        self._command = [*(program or (_PROGRAM,)), "-d", ":".join(USB_ID), "-p", port, "-a", "0"]
        self._told = ("", -1)

    def write(self, path: Path) -> None:
        self._run("-D", str(path))

    def read(self, element: Element, path: Path) -> bytes:
        """Return what the flash has in the place of a piece."""
        self._run("-s", f"{element.address:#010x}:{len(element.content)}", "-U", str(path))
        try:
            return path.read_bytes()
        finally:
            path.unlink()

    def leave(self, path: Path) -> None:
        """Start what was written."""
        # Some boot loaders are gone before they have answered: the board itself shows it
        with contextlib.suppress(FlashingFailed):
            self._run("-s", f"{_START_ADDRESS:#010x}:4:leave", "-U", str(path))

    def _run(self, *options: str) -> None:
        try:
            process = subprocess.Popen(  # noqa: S603 - a fixed program, our own arguments
                [*self._command, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # Nothing of ours: no secret is in it
                env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
            )
        except OSError as err:
            raise FlashingFailed(f"{_PROGRAM} cannot be started: install it, then again") from err
        with process, _ended(process) as late:
            said = self._told_of(process)
            status = process.wait()
        if late.is_set():
            raise FlashingFailed(
                f"{_PROGRAM} did not end within {STEP_LIMIT_S:.0f} s: unplug the board, start over"
            )
        if status:
            raise FlashingFailed(f"{_why(said)}: bring it into its boot loader again, start over")

    def _told_of(self, process: "subprocess.Popen[bytes]") -> str:
        """Tell the progress; return the last that it said."""
        assert process.stdout is not None
        said = b""
        while piece := process.stdout.read1(256):  # type: ignore[attr-defined]
            said = (said + piece)[-4096:]
            for word, percent in _PERCENT.findall(said.decode(errors="replace"))[-1:]:
                self._tell(_SHARES[word], int(percent))
        return said.decode(errors="replace")

    def _tell(self, step: str, percent: int) -> None:
        tenth = percent - percent % _REPORT_FROM_PERCENT
        if (step, tenth) != self._told:
            self._told = (step, tenth)
            self._on_progress(Progress(step, tenth))


def flash(board: str, util: DfuUtil, folder: Path = FOLDER) -> None:
    """Write MicroPython, compare every byte of it with what the board then has, and start it.

    Raises:
        BarnacleError: it is not there.
    """
    path, elements = checked_dfu(board, folder)
    with tempfile.TemporaryDirectory(prefix="barnacle-board-") as name:
        scratch = Path(name) / "read"
        util.write(path)
        for element in elements:
            if util.read(element, scratch) != element.content:
                raise FlashingFailed(
                    f"what the board has at {element.address:#010x} is not what was written: "
                    "start over; if it happens again, its flash is worn or protected"
                )
        util.leave(scratch)


@contextlib.contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator[threading.Event]:
    """End the program in time and with its caller: a board is never written by two."""
    late = threading.Event()

    def end_late() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(STEP_LIMIT_S, end_late)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        process.kill()


def _why(said: str) -> str:
    lines = [line.strip() for line in re.split(r"[\r\n]", said) if line.strip()]
    faults = [line for line in lines if "error" in line.lower() or "no dfu" in line.lower()]
    return f"{_PROGRAM}: {(faults or lines or ['it failed'])[-1]}"


def main(arguments: Sequence[str]) -> int:
    line = " ".join(arguments) or sys.stdin.readline(_MAX_LINE_BYTES)

    def tell(progress: Progress) -> None:
        sys.stdout.write(f"{msgspec.json.encode(progress).decode()}\n")
        sys.stdout.flush()

    try:
        if (asked := _WORDS.fullmatch(line.strip())) is None:
            raise FlashingFailed("name a board of the card and the port of its boot loader")
        flash(asked[1], DfuUtil(asked[2], tell))
    except BarnacleError as err:
        tell(Progress(failed=str(err)))
        return 1
    tell(Progress(is_done=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
