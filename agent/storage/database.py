"""SQLite databases: opened alike, migrated by number; damaged ones are set aside.

A database of a later version is converted back: what both forms have is copied, the rest stays in
a file beside it. A cut at any point leaves one form or the other.

WAL with `synchronous=FULL`: what was committed is there after a power cut. One writer per file;
every call belongs in a thread.
"""

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import PRIVATE_FOLDER, is_read_only, sync_folder
from agent.storage.privacy import create_private

# A writer waits this long for another one: longer than any of our transactions
BUSY_TIMEOUT_S = 5.0
# Damaged databases kept for a person to look at
_KEPT_CORRUPT = 2
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    # What is deleted is overwritten, as Debian's SQLite does of itself
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-2048",
)
# A database that nothing outlives, by SQLite's own name for it: no file bears that name
IN_RAM = Path(":memory:")
# As SQLite has it, for what is searched; small for what is written in small steps: a commit writes
# every page that it touches as a whole
USUAL_PAGE_BYTES, SMALL_PAGE_BYTES = 4096, 512
# Of the log before it is copied into the database: what is written again and again is copied once
_LOG_BYTES = 4 * 1024 * 1024
_log = logging.getLogger(__name__)
# What the name of the file that is being made ends with
FRESH_SUFFIX = ".older"
# Tables of SQLite itself
_INTERNAL = "sqlite_"


def open_database(
    path: Path, migrations: Sequence[str], page_bytes: int = USUAL_PAGE_BYTES
) -> sqlite3.Connection:
    """Open a database and apply `migrations` in order, each exactly once.

    A file that is not a healthy database is renamed to `*.corrupt.<time>`, of which the
    newest two are kept, and a fresh one is made; `was_set_aside` tells. One that a later version
    has changed is brought back into our form with everything in it that we know.

    Args:
        page_bytes: of a database that is made now; one that is there keeps its own.

    Raises:
        StorageFull: the folder cannot be written.
    """
    if path == IN_RAM:
        return _open(path, migrations, page_bytes)
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    if path.exists():
        from agent.storage.soundness import is_sound  # noqa: PLC0415 - once for each file

        if not is_sound(path):
            set_aside(path)
    try:
        if path.exists() and _steps_done(path) > len(migrations):
            _bring_back(path, migrations, page_bytes)
        return _open(path, migrations, page_bytes)
    except (sqlite3.OperationalError, OSError) as err:
        raise StorageFull(f"{path} cannot be opened: {err}") from err


def open_unchecked(
    path: Path, migrations: Sequence[str], page_bytes: int = USUAL_PAGE_BYTES
) -> sqlite3.Connection | None:
    """Open a database for looking at it before it is checked; None if that must come first.

    It was closed whole by its last user, and nobody has touched it since. What the disk has done to
    it unseen a check finds: until then nothing may be written, or a damaged file could lose more.
    """
    from agent.storage import clean_end  # noqa: PLC0415 - only the memory's files have it
    from agent.storage.soundness import is_logged  # noqa: PLC0415 - as above

    if path == IN_RAM or not clean_end.is_noted(path) or not is_logged(path):
        return None
    try:
        if _steps_done(path) != len(migrations):
            return None
        connection = _open(path, migrations, page_bytes)
        connection.execute("PRAGMA query_only=ON")
    except (sqlite3.Error, OSError, UnicodeError):
        # The check says why
        return None
    return connection


def open_read_only(path: Path, migrations: Sequence[str]) -> sqlite3.Connection | None:
    """Open a database on a read-only card for looking at it; None if it is on another one.

    SQLite would make files beside it to read it, and a later or earlier form is not ours to read.
    """
    if path == IN_RAM or not is_read_only(path):
        return None
    from agent.storage.foreign import open_foreign  # noqa: PLC0415 - only where a card has failed

    connection = open_foreign(path, check_same_thread=False)
    # Opening it in earnest says why it cannot be read
    with contextlib.suppress(sqlite3.Error):
        connection.isolation_level = None
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        (done,) = connection.execute("PRAGMA user_version").fetchone()
        if done == len(migrations):
            return connection
    connection.close()
    return None


def was_set_aside(path: Path) -> list[Path]:
    """Return damaged predecessors of this database, newest first."""
    return sorted(path.parent.glob(f"{path.name}.corrupt.*"), reverse=True)


def set_aside(path: Path) -> None:
    """Rename a damaged closed database; remove the oldest of those kept."""
    path.rename(_next_name(path, "corrupt", was_set_aside(path)))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for old in was_set_aside(path)[_KEPT_CORRUPT:]:
        old.unlink()


def _next_name(path: Path, kind: str, before: Sequence[Path]) -> Path:
    """Return a name that is free and sorts after `before`, of which the newest comes first.

    A clock that only goes on while the machine does says the same at two starts.
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    name = path.with_name(f"{path.name}.{kind}.{stamp}")
    return name if not before or before[0] < name else before[0].with_name(f"{before[0].name}-")


def _open(path: Path, migrations: Sequence[str], page_bytes: int) -> sqlite3.Connection:
    if path != IN_RAM:
        # SQLite gives its other files the rights of this one
        create_private(path)
    # Used from one worker thread at a time, not always the same one
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        # A byte that the disk has changed spoils a text, not the start of the agent
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.execute(f"PRAGMA page_size={page_bytes}")
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_BYTES // page_bytes}")
        _migrate(connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _steps_done(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
        (done,) = connection.execute("PRAGMA user_version").fetchone()
    return int(done)


def _bring_back(path: Path, migrations: Sequence[str], page_bytes: int) -> None:
    """Restore our form after an update was tried and left: its steps are unknown here."""
    fresh = path.with_name(f"{path.name}{FRESH_SUFFIX}")
    for left in path.parent.glob(f"{fresh.name}*"):
        left.unlink()
    _open(fresh, migrations, page_bytes).close()
    try:
        bring_back(path, fresh)
    except OSError as err:
        raise StorageFull(f"{path} cannot be brought into an older form: {err}") from err


def _migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    (done,) = connection.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(migrations[done:], start=done + 1):
        # One transaction with its number: a cut leaves the step done or not begun
        connection.executescript(f"BEGIN;\n{script};\nPRAGMA user_version={number};\nCOMMIT;")


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
    later = _next_name(path, "later", made_by_later(path))
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
