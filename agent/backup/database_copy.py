"""Copies of SQLite databases, consistent while the agent writes, and their soundness."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent.storage.database import BUSY_TIMEOUT_S

_MAGIC = b"SQLite format 3\0"
# What SQLite keeps beside a database: a copy needs none of it
COMPANIONS = ("-wal", "-shm", "-journal")


def is_database(path: Path) -> bool:
    """Return true if the file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def copy_database(source: Path, target: Path) -> int:
    """Copy a database by SQLite's backup API; return the number of its last migration.

    All pages are copied under one read lock: writers go on, and none of them begins it anew.

    Raises:
        sqlite3.Error: the source is damaged, or there is no room.
    """
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    uri = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        new.execute("PRAGMA synchronous=OFF")
        new.execute("PRAGMA cache_size=-512")
        old.backup(new)
    return schema_of(target)


def schema_of(path: Path) -> int:
    """Return the number of a database's last migration."""
    with _opened(path) as database:
        (number,) = database.execute("PRAGMA user_version").fetchone()
    return int(number)


def trouble_of(path: Path) -> str:
    """Return what is wrong with a database; empty if it is sound."""
    try:
        with _opened(path) as database:
            rows = database.execute("PRAGMA integrity_check(3)").fetchall()
    except sqlite3.Error as err:
        return str(err)
    return "" if rows == [("ok",)] else "; ".join(str(row[0]) for row in rows)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # Nobody else has this copy: without a log and its memory beside it
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        yield database
