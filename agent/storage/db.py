"""SQLite databases: opened alike, migrated by number; damaged ones are set aside.

WAL with `synchronous=FULL`: what was committed is there after a power cut. One writer per file;
every call belongs in a thread.
"""

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import PRIVATE_FOLDER
from agent.storage.privacy import create_private

# A writer waits this long for another one: longer than any of our transactions
BUSY_TIMEOUT_S = 5.0
# Damaged databases kept for a person to look at
_KEPT_CORRUPT = 2
# Of a file's first bytes: the versions for writing and for reading it
_HEADER_BYTES = 20
_FORMAT_PLACES = slice(18, 20)
_KNOWN_FORMATS = frozenset({1, 2})
_SIGNS_OF_DAMAGE = ("malformed", "unsupported file format")
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
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
    if path.exists() and not _is_healthy(path):
        set_aside(path)
    try:
        if path.exists() and _steps_done(path) > len(migrations):
            _bring_back(path, migrations, page_bytes)
        return _open(path, migrations, page_bytes)
    except (sqlite3.OperationalError, OSError) as err:
        raise StorageFull(f"{path} cannot be opened: {err}") from err


def was_set_aside(path: Path) -> list[Path]:
    """Return damaged predecessors of this database, newest first."""
    return sorted(path.parent.glob(f"{path.name}.corrupt.*"), reverse=True)


def set_aside(path: Path) -> None:
    """Rename a damaged closed database; remove the oldest of those kept."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path.rename(path.with_name(f"{path.name}.corrupt.{stamp}"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for old in was_set_aside(path)[_KEPT_CORRUPT:]:
        old.unlink()


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
    from agent.storage.form import FRESH_SUFFIX, bring_back  # noqa: PLC0415 - hardly ever

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


def _is_healthy(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            formats = file.read(_HEADER_BYTES)[_FORMAT_PLACES]
        if not _KNOWN_FORMATS.issuperset(formats):
            # SQLite would open it, for reading only
            return False
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
        try:
            # A quick check does not see an index that lost what the table has; this costs half more
            rows = connection.execute("PRAGMA integrity_check(1)").fetchall()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError as err:
        # A locked or unreadable file is not a damaged one
        return isinstance(err, sqlite3.OperationalError) and not any(
            sign in str(err) for sign in _SIGNS_OF_DAMAGE
        )
    except OSError:
        # Opening it in earnest says why
        return True
    except UnicodeDecodeError:
        # The message quotes what is left of the schema
        return False
    # The number of steps is never below none
    return rows == [("ok",)] and version >= 0
