"""Repairs of the storage: folders, stale sockets, rights, owners, and indexes of databases.

Data in a table is never changed. The agent sets a damaged database aside at its start.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent.errors import StateInUse, StorageFull
from agent.health.base import Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ownership import exposed, foreign, give_back, take_from_others
from agent.health.repairs.base import RepairResult, as_root
from agent.storage import lock

_SOCKET = "chat.sock"
_BUSY_TIMEOUT_S = 5.0
_IS_SOUND = [("ok",)]
_WORD_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%USING fts5%'"


async def remove_leftovers(patient: Patient) -> list[RepairResult]:
    return await in_daemon_thread(lambda: _removed(patient))


def _removed(patient: Patient) -> list[RepairResult]:
    """Remove the stale socket, only while no agent runs."""
    folder = patient.state_dir
    if not _is_socket(folder / _SOCKET):
        return []
    try:
        with lock.hold(folder):
            # The lock itself removes what was written half
            path = folder / _SOCKET
            if not _is_socket(path):
                return []
            path.unlink()
    except (StateInUse, StorageFull, OSError):
        # An agent is at work, or another repair says what is wrong with the folder
        return []
    return [RepairResult(f"removed the stale socket {path}")]


def _is_socket(path: Path) -> bool:
    """Return true for a socket, and for a link to one."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)


async def make_folders(patient: Patient) -> list[RepairResult]:
    return await in_daemon_thread(lambda: _made(patient))


def _made(patient: Patient) -> list[RepairResult]:
    """Create the state folder, private to its owner; the agent creates its contents."""
    folder = patient.state_dir
    if folder.exists():
        return []
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as err:
        return [
            RepairResult(
                f"cannot create {folder} ({err.strerror}): run `sudo install -d -m 700 -o "
                f"USER {folder}`",
                is_done=False,
            )
        ]
    return [RepairResult(f"created {folder}")]


async def restrict_access(patient: Patient) -> list[RepairResult]:
    return await in_daemon_thread(lambda: [*_of_state(patient), *_of_config(patient)])


def _of_state(patient: Patient) -> list[RepairResult]:
    folder, deeds = patient.state_dir, list[RepairResult]()
    if foreign(folder):
        given = give_back(folder) if os.geteuid() == 0 else 0
        if given:
            deeds.append(RepairResult(f"returned {given} files in {folder} to their owner"))
        if left := len(foreign(folder)):
            told = f"{left} files in {folder} belong to another user"
            deeds.append(RepairResult(f"{told}: {as_root(folder)} corrects it", is_done=False))
    if exposed(folder):
        closed = take_from_others(folder)
        if closed:
            deeds.append(RepairResult(f"removed other users' access to {closed} files in {folder}"))
        if exposed(folder):
            told = f"other users can read {folder}, and it is not yours"
            deeds.append(RepairResult(f"{told}: {as_root(folder)} corrects it", is_done=False))
    return deeds


def _of_config(patient: Patient) -> list[RepairResult]:
    path = patient.config
    if path is None:
        return []
    try:
        mode = path.stat().st_mode
    except OSError:
        # Another check says why
        return []
    too_much = mode & (stat.S_IRWXO if patient.holds_key else stat.S_IWOTH)
    if not too_much:
        return []
    try:
        path.chmod(stat.S_IMODE(mode) & ~too_much)
    except OSError as err:
        told = f"every user can open {path}, and this cannot be changed ({err.strerror})"
        return [RepairResult(f"{told}: `sudo chmod o-rwx {path}`", is_done=False)]
    return [RepairResult(f"removed every other user's access to {path}")]


async def rebuild_indexes(patient: Patient) -> list[RepairResult]:
    return await in_daemon_thread(lambda: list(_rebuilt(patient)))


def _rebuilt(patient: Patient) -> Iterator[RepairResult]:
    damaged = [path for path in patient.databases if path.is_file() and not _is_sound(path)]
    if not damaged:
        return
    try:
        with lock.hold(patient.state_dir):
            for path in damaged:
                yield _deed(path)
    except StateInUse:
        names = ", ".join(path.name for path in damaged)
        yield RepairResult(
            f"{names} is damaged: stop the agent, then run this command again", is_done=False
        )
    except StorageFull as err:
        yield RepairResult(str(err), is_done=False)


def _deed(path: Path) -> RepairResult:
    try:
        _rebuild(path)
    except sqlite3.DatabaseError as err:
        return RepairResult(
            f"cannot repair {path} ({err}): the agent moves it aside", is_done=False
        )
    if _is_sound(path):
        return RepairResult(f"rebuilt the indexes of {path}")
    return RepairResult(
        f"cannot repair {path}: the agent moves it aside at its next start", is_done=False
    )


def _rebuild(path: Path) -> None:
    with closing(_opened(path)) as connection:
        connection.execute("REINDEX")
        for name in _word_indexes(connection):
            connection.execute(f'INSERT INTO "{name}"("{name}") VALUES (\'rebuild\')')  # noqa: S608 - a name of ours


def _is_sound(path: Path) -> bool:
    try:
        with closing(_opened(path)) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchall() != _IS_SOUND:
                return False
            for name in _word_indexes(connection):
                connection.execute(f'INSERT INTO "{name}"("{name}") VALUES (\'integrity-check\')')  # noqa: S608 - a name of ours
    except sqlite3.OperationalError:
        # Locked, or not to be written: that is no damage
        return True
    except sqlite3.DatabaseError:
        return False
    return True


def _word_indexes(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute(_WORD_INDEXES) if name.isidentifier()]


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        timeout=_BUSY_TIMEOUT_S,
        isolation_level=None,
        uri=True,
    )
