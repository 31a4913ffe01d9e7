"""Locks between processes: one agent per state folder, one writer per file."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from agent.errors import StateInUse, StorageFull
from agent.storage.files import remove_stale_temps

_LOCK_NAME = "lock"


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock the folder against other agents.

    Raises:
        StateInUse: another one is in it.
        StorageFull: the folder cannot be written.
    """
    try:
        # What people told the agent is nobody else's on this machine
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _opened(folder / _LOCK_NAME)
    except OSError as err:
        raise StorageFull(f"the state folder {folder} cannot be used: {err.strerror}") from err
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            raise StateInUse(_in_use(folder, os.pread(handle, 20, 0))) from err
        # Who holds it is for people alone, and a full disk takes not even that
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        # What a cut left half written; not what a command writes at this moment
        with contextlib.suppress(OSError):
            remove_stale_temps(folder)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file for the time of one change."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _opened(Path(f"{path}.lock"))
    except OSError as err:
        raise StorageFull(f"{path} cannot be written: {err.strerror}") from err
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def held(path: Path) -> contextlib.ExitStack:
    """Return the lock of a file, for a change that more than one function makes.

    One that nobody keeps ends by itself.
    """
    stack = contextlib.ExitStack()
    stack.enter_context(locked(path))
    return stack


def _opened(path: Path) -> int:
    """Open a lock; one that root makes belongs to whoever the folder belongs to."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        # A restore is root's, and the agent that is started after it is not. A root that may give
        # nothing away locks all the same
        with contextlib.suppress(OSError):
            whose = path.parent.stat()
            os.fchown(handle, whose.st_uid, whose.st_gid)
    return handle


def _in_use(folder: Path, holder: bytes) -> str:
    who = f" (process {holder.decode()})" if holder.isdigit() else ""
    return (
        f"another barnacle{who} uses {folder}: stop it, or set BARNACLE_STATE_DIR to another folder"
    )
