"""Builds indexes of the databases anew that do not fit their tables any more.

What is in a table is never changed. A database whose tables are damaged is not ours to mend: the
agent sets it aside at its start.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent.errors import StateInUse, StorageFull
from agent.health.base import Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.repairs.base import RepairResult
from agent.storage import lock

_BUSY_TIMEOUT_S = 5.0
_IS_SOUND = [("ok",)]
_WORD_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%USING fts5%'"


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
