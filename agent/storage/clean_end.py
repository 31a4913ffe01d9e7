"""Note of a clean end: whoever used a database last had checked it and closed it.

The note holds what the file system knows of the file. Whoever writes, copies or puts back the
database makes the note void, and so does a log of writes that lies beside it: then it was not
closed, or somebody has it open.
"""

import contextlib
import logging
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

SUFFIX = ".clean"
# What SQLite keeps beside a database while it is open, and after a cut
_LOGS = ("-wal", "-journal")


def is_noted(path: Path) -> bool:
    """Return true if the database is as it was when its end was noted."""
    try:
        return _note_of(path).read_text(encoding="ascii", errors="replace") == _stamp(path)
    except OSError:
        return False


def note(path: Path) -> None:
    """Note that this database was checked and closed; not if it is open elsewhere."""
    try:
        stamp = _stamp(path)
        if stamp and not is_noted(path):
            write_atomic(_note_of(path), stamp.encode())
    except (StorageFull, OSError) as err:
        # Without it the next start checks before it answers
        _log.info("storage: clean end not noted (file=%s, error=%s)", path.name, err)


def forget(path: Path) -> None:
    """Remove the note: the database is about to be changed, or is damaged."""
    with contextlib.suppress(OSError):
        _note_of(path).unlink(missing_ok=True)


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{SUFFIX}")


def _stamp(path: Path) -> str:
    """Return what tells this state of the file from any other; "" while it has a log."""
    if any(path.with_name(path.name + log).exists() for log in _LOGS):
        return ""
    found = path.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
