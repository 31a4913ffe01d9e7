"""Ledger of answered messages, kept over restarts: each message is handled once.

A result is on record after the work. A cut in between leaves none, so that the sender tries again
and the agent's inbox knows the message. The same rows tell how many messages came of late.
"""

import sqlite3
from pathlib import Path

from agent.channels.push import PushAnswer
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# Longer than any sender tries again, and than any signature is good
KEPT_S = 3 * 24 * 3600.0
# Of all programs that share the secret; people say less
MAX_MESSAGES = 120
WITHIN_S = 60.0
_MIGRATIONS = (
    """
    CREATE TABLE events (
        id TEXT PRIMARY KEY, at_s REAL NOT NULL, status INTEGER NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX events_by_time ON events (at_s)
    """,
)


class PushLedger:
    """Answered messages of the last days."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._kept = DatabaseWorker(path, _MIGRATIONS)
        self._clock = clock

    async def answered(self, message_id: str) -> PushAnswer | None:
        """Return the earlier answer to the message.

        Raises:
            StorageFull: that cannot be known.
        """
        return await self._kept.look(lambda db: _answered(db, message_id))

    async def wait_s(self) -> float:
        """Return the seconds until another message may come; 0 for now."""
        now_s = self._clock.wall_s()
        return await self._kept.look(lambda db: _wait_s(db, now_s))

    async def keep(self, message_id: str, answered: PushAnswer) -> None:
        """Record the answer.

        Raises:
            StorageFull: it is not on record.
        """
        now_s = self._clock.wall_s()
        row = (message_id, now_s, answered.status, answered.text)

        def keep(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM events WHERE at_s <= ?", (now_s - KEPT_S,))
            # What seems to lie ahead came before the clock was set back
            db.execute("UPDATE events SET at_s = ? WHERE at_s > ?", (now_s, now_s))
            db.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)", row)

        await self._kept.transact(keep)

    async def aclose(self) -> None:
        await self._kept.aclose()


def _answered(db: sqlite3.Connection, message_id: str) -> PushAnswer | None:
    row = db.execute("SELECT status, text FROM events WHERE id = ?", (message_id,)).fetchone()
    return None if row is None else PushAnswer(*row)


def _wait_s(db: sqlite3.Connection, now_s: float) -> float:
    count, first_s = db.execute(
        "SELECT count(*), min(at_s) FROM events WHERE at_s > ?", (now_s - WITHIN_S,)
    ).fetchone()
    return max(min(first_s, now_s) + WITHIN_S - now_s, 1.0) if count >= MAX_MESSAGES else 0.0
