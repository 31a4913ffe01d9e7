"""SQLite databases of the agent: opened alike, migrated by number, damaged ones set aside.

WAL with `synchronous=FULL`: what was committed is there after a power cut. One writer per file;
every call belongs in a thread.
"""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from agent.errors import StorageFull

# A writer waits this long for another one: longer than any of our transactions
BUSY_TIMEOUT_S = 5.0
# Damaged databases kept for a person to look at
_KEPT_CORRUPT = 2
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-2048",
)


def open_database(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """An open database whose schema is `migrations` applied in order, each exactly once.

    A file that is not a healthy database is renamed to `*.corrupt.<time>`, of which the
    newest two are kept, and a fresh one is made; `was_set_aside` tells.

    Raises:
        StorageFull: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not _is_healthy(path):
        _set_aside(path)
    try:
        return _open(path, migrations)
    except sqlite3.OperationalError as err:
        raise StorageFull(f"{path} cannot be opened: {err}") from err


def was_set_aside(path: Path) -> list[Path]:
    """Damaged predecessors of this database, newest first."""
    return sorted(path.parent.glob(f"{path.name}.corrupt.*"), reverse=True)


def _open(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    # Used from one worker thread at a time, not always the same one
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    _migrate(connection, migrations)
    return connection


def _migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    (done,) = connection.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(migrations[done:], start=done + 1):
        # One transaction with its number: a cut leaves the step done or not begun
        connection.executescript(f"BEGIN;\n{script};\nPRAGMA user_version={number};\nCOMMIT;")


def _is_healthy(path: Path) -> bool:
    try:
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
        try:
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
        finally:
            connection.close()
    except sqlite3.DatabaseError as err:
        # A locked or unreadable file is not a damaged one
        return isinstance(err, sqlite3.OperationalError) and "malformed" not in str(err)
    return rows == [("ok",)]


def _set_aside(path: Path) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path.rename(path.with_name(f"{path.name}.corrupt.{stamp}"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for old in was_set_aside(path)[_KEPT_CORRUPT:]:
        old.unlink()
