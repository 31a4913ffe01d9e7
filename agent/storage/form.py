"""Conversion of a database that a later version has changed, back to this version's form.

What both forms have is carried over, so that nothing is lost that was accepted meanwhile. What the
later one had stays beside it, for a person, and a cut at any point leaves the one or the other.
"""

import contextlib
import logging
import os
import sqlite3
import time
from pathlib import Path

from agent.storage.files import sync_folder

_log = logging.getLogger(__name__)

# What the name of the file that is being made ends with
FRESH_SUFFIX = ".older"
# Tables of SQLite itself
_INTERNAL = "sqlite_"


def made_by_later(path: Path) -> list[Path]:
    """Return the files that a later version left beside this database, newest first."""
    return sorted(path.parent.glob(f"{path.name}.later.*"), reverse=True)


def bring_back(path: Path, fresh: Path) -> None:
    """Replace `path` by `fresh`, which has our form, and copy the content over.

    Raises:
        sqlite3.Error: the one at `path` is as it was.
        OSError: likewise.
    """
    _fold(path)
    with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys=OFF")
        database.execute("ATTACH ? AS later", [str(path)])
        database.execute("BEGIN IMMEDIATE")
        for table in _shared_tables(database):
            _carry(database, table)
        database.execute("COMMIT")
        database.execute("DETACH later")
    _fold(fresh)
    _fold(path)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    later = path.with_name(f"{path.name}.later.{stamp}")
    with contextlib.suppress(FileExistsError):
        os.link(path, later)
    fresh.replace(path)
    sync_folder(path.parent)
    for old in made_by_later(path)[1:]:
        old.unlink()
    _log.warning(
        "storage: database converted from a later version (file=%s, original=%s)",
        path.name,
        later.name,
    )


def _fold(path: Path) -> None:
    """Fold the log into the database file, because another file would take it for its own."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _shared_tables(database: sqlite3.Connection) -> list[str]:
    """Return the tables of both databases, without the internal ones of virtual tables."""
    ours, theirs = (
        dict(database.execute(f"SELECT name, sql FROM {one}.sqlite_schema WHERE type = 'table'"))  # noqa: S608 - two names of ours
        for one in ("main", "later")
    )
    virtual = tuple(
        f"{name}_" for name, sql in ours.items() if sql and "VIRTUAL TABLE" in sql.upper()
    )
    shared = [name for name in ours if name in theirs and not name.startswith(_INTERNAL)]
    return [name for name in shared if not (virtual and name.startswith(virtual))]


def _carry(database: sqlite3.Connection, table: str) -> None:
    name = _quoted(table)
    theirs = _columns(database, "later", table)
    columns = ", ".join(_quoted(one) for one in _columns(database, "main", table) if one in theirs)
    if _has_own_rowid(database, table):
        # Other tables, and the log of what was told, go by it
        columns = f"rowid, {columns}" if columns else "rowid"
    (wanted,) = database.execute(f"SELECT count(*) FROM later.{name}").fetchone()  # noqa: S608 - names out of our own schema, quoted
    database.execute(f"DELETE FROM main.{name}")  # noqa: S608 - as above
    carried = database.execute(
        f"INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM later.{name}"  # noqa: S608 - as above
    ).rowcount
    if carried != wanted:
        _log.error(
            "storage: rows lost in conversion (rows=%d, of=%d, table=%s)",
            wanted - carried,
            wanted,
            table,
        )


def _columns(database: sqlite3.Connection, of: str, table: str) -> list[str]:
    """Return the columns that can be written, without generated ones."""
    return [str(row[1]) for row in database.execute(f"PRAGMA {of}.table_info({_quoted(table)})")]


def _has_own_rowid(database: sqlite3.Connection, table: str) -> bool:
    """Return true if rows have a number that is no column."""
    keys = [row for row in database.execute(f"PRAGMA main.table_info({_quoted(table)})") if row[5]]
    if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER":
        return False
    try:
        database.execute(f"SELECT rowid FROM main.{_quoted(table)} LIMIT 0")  # noqa: S608 - a name out of our own schema, quoted
    except sqlite3.OperationalError:
        return False
    return True


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
