"""How often effects happened, kept over restarts, and where the audit log stood at the last one.

Functions take a connection inside a transaction. Times are those of the wall: they have to mean
the same after a restart. A clock that went back makes nothing count less.
"""

import sqlite3
from collections.abc import Iterable

from agent.security.chain import Link, link_of
from agent.security.policy import Counters, Done

_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


def done(connection: sqlite3.Connection, turn: str, now_s: float) -> Counters:
    """What counts now, by key."""
    rows = connection.execute(
        "SELECT name, SUM(turn = ?), SUM(at_s > ?), COUNT(*) FROM effects WHERE at_s > ?"
        " GROUP BY name",
        (turn, now_s - _HOUR_S, now_s - _DAY_S),
    )
    return {name: Done(in_turn, hour, day) for name, in_turn, hour, day in rows}


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
