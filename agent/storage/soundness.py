"""Soundness of a database: every page, row and index entry is where it belongs."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock

# As long as every other user of a database waits for a writer
_BUSY_TIMEOUT_S = 5.0
# Of a file's first bytes: the versions for writing and for reading it
_HEADER_BYTES = 20
_FORMAT_PLACES = slice(18, 20)
_KNOWN_FORMATS = frozenset({1, 2})
# Of one that keeps its changes in a log beside it, as all of ours do
_LOGGED_FORMAT = 2
_PIECE_BYTES = 1024 * 1024
# A small board's memory holds no more at a time
_MOST_PIECES = 256
_SIGNS_OF_DAMAGE = ("malformed", "unsupported file format")


def is_sound(path: Path, hold: Callable[[sqlite3.Connection], None] = lambda _db: None) -> bool:
    """Return false if the file is damaged; true too if it is locked or may not be read.

    Args:
        hold: gets the connection before the check, to interrupt it from another thread.
    """
    try:
        if not _KNOWN_FORMATS.issuperset(_formats(path)):
            # SQLite would open it, for reading only
            return False
        _read_through(path)
        with contextlib.closing(
            sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, check_same_thread=False)
        ) as connection:
            hold(connection)
            # A quick check does not see an index that lost what the table has; this costs half more
            rows = connection.execute("PRAGMA integrity_check(1)").fetchall()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
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


def is_logged(path: Path) -> bool:
    """Return true if the file is a database whose changes go to a log beside it."""
    try:
        return set(_formats(path)) == {_LOGGED_FORMAT}
    except OSError:
        return False


def _read_through(path: Path) -> None:
    """Have the system read the file in order: a check reads it here and there, a page at a time.

    Of 140 MB that were on the disk alone it takes a third of the time, and half of the processor's.
    """
    # What cannot be read the check meets too
    with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
        piece = bytearray(_PIECE_BYTES)
        for _ in range(_MOST_PIECES):
            if not file.readinto(piece):
                return


def _formats(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)[_FORMAT_PLACES]


class SoundnessCheck:
    """A check of a database that others read meanwhile; blocking, for any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Two that want to know wait for one check
        self._turn = Lock()
        self._found: bool | None = None
        self._given_up = False
        self._connection: sqlite3.Connection | None = None

    @property
    def found(self) -> bool | None:
        """Return the result; None until there is one."""
        return self._found

    def run(self) -> bool | None:
        """Check once, and return the result; None if it was given up."""
        with self._turn:
            if self._found is None and not self._given_up:
                found = is_sound(self._path, self._hold)
                self._connection = None
                self._found = None if self._given_up else found
            return self._found

    def give_up(self) -> None:
        """End a check that runs: nobody waits for its result any more."""
        self._given_up = True
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):
                # It is closed: the check has just ended
                connection.interrupt()

    def _hold(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
