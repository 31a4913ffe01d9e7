"""Counts of effects, kept over restarts, and the last known row of the audit log.

Functions take a connection inside a transaction. Times are those of the wall: they have to mean
the same after a restart. A clock that went back makes nothing count less.
"""

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from agent.security.audit_chain import Link, link_of
from agent.security.policy import ActCount, Counters


def read_anchor(path: Path) -> Link | None:
    """The row of the audit log that is known from elsewhere; None where there is none."""
    connection = _opened(path)
    if connection is None:
        return None
    with closing(connection):
        try:
            return anchored(connection)
        except (sqlite3.DatabaseError, ValueError):
            return None


def read_counters(path: Path) -> Counters:
    """Return the effects of the last hour and day; empty if they are unknown."""
    connection = _opened(path)
    if connection is None:
        return {}
    with closing(connection):
        try:
            return done(connection, "", time.time())
        except sqlite3.DatabaseError:
            return {}


def _opened(path: Path) -> sqlite3.Connection | None:
    try:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return None


_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


def done(connection: sqlite3.Connection, turn: str, now_s: float) -> Counters:
    """Return the present counts by key."""
    rows = connection.execute(
        "SELECT name, SUM(turn = ?), SUM(at_s > ?), COUNT(*) FROM effects WHERE at_s > ?"
        " GROUP BY name",
        (turn, now_s - _HOUR_S, now_s - _DAY_S),
    )
    return {name: ActCount(in_turn, hour, day) for name, in_turn, hour, day in rows}


def note(connection: sqlite3.Connection, names: Iterable[str], turn: str, now_s: float) -> None:
    """Count an effect under each of these names."""
    # What seems to lie ahead was done before the clock was set back, so at the latest now
    connection.execute("UPDATE effects SET at_s = ? WHERE at_s > ?", (now_s, now_s))
    connection.execute("DELETE FROM effects WHERE at_s <= ?", (now_s - _DAY_S,))
    connection.executemany(
        "INSERT INTO effects (name, turn, at_s) VALUES (?, ?, ?)",
        [(name, turn, now_s) for name in names],
    )


def anchor(connection: sqlite3.Connection, link: Link) -> None:
    """Remember a row of the audit log, so that its loss is noticed."""
    connection.execute(
        "INSERT INTO audit_anchor (id, link) VALUES (1, ?)"
        " ON CONFLICT (id) DO UPDATE SET link = excluded.link",
        (str(link),),
    )


def anchored(connection: sqlite3.Connection) -> Link | None:
    """The row that was remembered last.

    Raises:
        ValueError: what is there is no place in a log.
    """
    row = connection.execute("SELECT link FROM audit_anchor").fetchone()
    return link_of(row[0]) if row else None
