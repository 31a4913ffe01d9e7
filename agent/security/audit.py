"""The audit log: files of chained rows in one folder, only ever appended to, without secrets.

A durable row survives a power cut. At most `MAX_FILES` files are kept; the first row of a file says
where the removed rows ended, so the rest stays verifiable. Only the process that holds the state
folder writes; others may read meanwhile.
"""

import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.errors import StorageFull
from agent.security.audit_chain import START, Broken, Link, Row, Value, tied, untied
from agent.storage.files import is_read_only, sync_folder
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A row as it was read back
Found = dict[str, Value]

# Some thousand rows; read as a whole when the log is opened again
MAX_FILE_BYTES = 1_000_000
# Months of an agent that is used daily, and no more of an SD card than a photograph
MAX_FILES = 10
# Of one text in a row: enough to know what it was; its hash stands for the rest
MAX_FIELD_CHARS = 1000
_CUT_MARK = "…"
_SUFFIX = ".jsonl"
# More than the longest row that can be written; a longer line is not ours
MAX_LINE_BYTES = 256 * 1024


class Audit:
    """Appends rows; every method blocks and may be called from any thread.

    Args:
        redact: takes the secrets out of a text.
    """

    def __init__(self, folder: Path, redact: Callable[[str], str], clock: Clock) -> None:
        self._folder = folder
        self._redact = redact
        self._clock = clock
        self._last = START
        self._handle: int | None = None
        self._size_bytes = 0
        self._is_torn = False
        self._one_at_a_time = threading.Lock()

    def append(self, row: Row, *, durable: bool) -> Link:
        """Write a row with the time; return its place in the chain.

        Raises:
            StorageFull: it was not written.
        """
        stamped: Row = {"at_s": round(self._clock.wall_s(), 3), **row}
        bounded = {name: self._bounded(value) for name, value in stamped.items()}
        with self._one_at_a_time:
            try:
                self._make_ready()
                return self._write(bounded, durable=durable)
            except OSError as err:
                raise StorageFull(
                    f"the audit log in {self._folder} cannot be written: {err.strerror}"
                ) from err

    def close(self) -> None:
        with self._one_at_a_time:
            self._let_go()

    def _bounded(self, value: Value) -> Value:
        """Return the value cut to its limit; remove secrets first, because half a secret hides."""
        if not isinstance(value, str):
            return value
        text = self._redact(value)
        return text if len(text) <= MAX_FIELD_CHARS else text[:MAX_FIELD_CHARS] + _CUT_MARK

    def _make_ready(self) -> None:
        if self._handle is None:
            self._open()
        elif os.fstat(self._handle).st_nlink == 0:
            _log.error("audit: log file removed, a new one begins")
            self._let_go()
            self._begin_file({"kind": "begun"})
        elif self._size_bytes >= MAX_FILE_BYTES:
            self._rotate()

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = files_of(self._folder)
        while files and b"\n" not in files[-1].read_bytes():
            # Cut off before its first row
            files.pop().unlink()
        if not files:
            self._last = START
            self._begin_file({"kind": "begun"})
            return
        newest = files[-1]
        whole_bytes, is_sound = _whole(newest)
        found = (last for path in reversed(files) if (last := _last_row(path)) is not None)
        self._last = next(found, START)
        if not is_sound:
            # What cannot be read counts as one row; no other file has the number after it
            number = max(self._last.number + 1, int(newest.stem))
            self._last = Link(number, self._last.digest)
            self._begin_file({"kind": "begun", "reason": f"the end of {newest.name} is damaged"})
            return
        self._handle = os.open(newest, os.O_WRONLY | os.O_APPEND)
        # What a power cut left of a row was never acknowledged
        os.ftruncate(self._handle, whole_bytes)
        self._size_bytes = whole_bytes

    def _rotate(self) -> None:
        leaving = files_of(self._folder)[: 1 - MAX_FILES]
        row: dict[str, Value] = {"kind": "continued"}
        if leaving and (gone := _last_row(leaving[-1])) is not None:
            row["dropped"] = str(gone)
        self._let_go()
        self._begin_file(row)
        # Only now: cut in between, there is more than is said, never less
        for path in leaving:
            path.unlink(missing_ok=True)
        sync_folder(self._folder)

    def _begin_file(self, row: Row) -> None:
        path = self._folder / f"{self._last.number + 1:012d}{_SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._handle = os.open(path, flags, 0o600)
        self._size_bytes, self._is_torn = 0, False
        try:
            self._write({"at_s": round(self._clock.wall_s(), 3), **row}, durable=True)
            sync_folder(self._folder)
        except OSError:
            self._let_go()
            # Empty, it would hold nothing and keep its name from the next attempt
            path.unlink(missing_ok=True)
            raise

    def _write(self, row: Row, *, durable: bool) -> Link:
        assert self._handle is not None
        if self._is_torn:
            os.ftruncate(self._handle, self._size_bytes)
            self._is_torn = False
        line, link = tied(row, self._last)
        # Until it is whole: what a full disk took of it has to go before the next one
        self._is_torn = True
        if os.write(self._handle, line) != len(line):
            raise OSError(0, "there is no room for a whole row")
        if durable:
            os.fdatasync(self._handle)
            if is_read_only(self._handle):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        self._is_torn = False
        self._size_bytes += len(line)
        self._last = link
        return link

    def _let_go(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def files_of(folder: Path) -> list[Path]:
    """Return the files of a log, oldest first."""
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal())


def lines_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every line with its position, oldest first; skip a last line that a power cut left."""
    files = files_of(folder)
    for path in files:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if path != files[-1] or line.endswith(b"\n") or len(line) == MAX_LINE_BYTES:
                    yield f"{path.name} line {number}", line


def rows_of(folder: Path) -> Iterator[Found]:
    """Yield every readable row, oldest first; `problems` reports the damaged ones."""
    for _, line in lines_of(folder):
        try:
            yield untied(line)[0]
        except Broken:
            continue


def text_of(row: Found, name: str) -> str:
    """Return a value of a row as text; empty if the row lacks it."""
    return str(row.get(name, ""))


def _whole(path: Path) -> tuple[int, bool]:
    """Return the size up to the last line end, and true if the last line is a row."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    try:
        untied(content[content.rfind(b"\n", 0, max(0, end - 1)) + 1 : end])
    except Broken:
        return end, False
    return end, True


def _last_row(path: Path) -> Link | None:
    """Return the place of the last line that is a row."""
    for line in reversed(path.read_bytes().splitlines()):
        try:
            return untied(line)[1]
        except Broken:
            continue
    return None
