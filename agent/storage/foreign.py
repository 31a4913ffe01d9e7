"""Databases of other programs, opened for reading alone."""

import sqlite3
from pathlib import Path


def open_foreign(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open the database of a program that may be running; nothing is written beside it.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    log = path.with_name(f"{path.name}-wal")
    # A program that runs, or was killed, has its newest rows in the log; without one, SQLite would
    # make one only to read
    is_logged = log.is_file() and log.stat().st_size > 0
    uri = uri if is_logged else f"{uri}&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=check_same_thread)
