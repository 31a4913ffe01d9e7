"""How often a caller was refused of late: a window that slides, and that a restart does not open.

Always on. The table is bounded: whoever comes when it is full shares one place with all others.
Nothing is written for a caller who has reached the limit, so that a flood costs no storage.
"""

import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path

from agent.clock import Clock
from agent.storage.worker import DatabaseWorker

# A person who mistypes stays below; who guesses 32 bytes gets nowhere
MAX_REFUSED = 10
WINDOW_S = 300.0
# Callers that are told apart
MAX_CALLERS = 1000
OTHERS = "others"

_MIGRATIONS = (
    """
    CREATE TABLE refused (caller TEXT NOT NULL, at_s REAL NOT NULL);
    CREATE INDEX refused_by_time ON refused (at_s)
    """,
)


class Limiter:
    """Counts refusals; times are of the wall, because they outlive the process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._kept = DatabaseWorker(path, _MIGRATIONS)
        self._clock = clock
        self._of: dict[str, deque[float]] = {}

    async def begin(self) -> None:
        """Take up what an earlier run has counted.

        Raises:
            StorageFull: it cannot be known, so nobody may be let in.
        """
        now_s = self._clock.wall_s()
        rows = await self._kept.transact(lambda db: _kept(db, now_s))
        for caller, at_s in rows:
            self._count(caller, min(at_s, now_s))

    def wait_s(self, caller: str) -> float:
        """How long until the caller is listened to; 0 for now."""
        now_s = self._clock.wall_s()
        times = self._of.get(self._place(caller), deque())
        _slide(times, now_s)
        return times[0] + WINDOW_S - now_s if len(times) >= MAX_REFUSED else 0.0

    def note(self, caller: str) -> None:
        """The caller was refused for what they said of themselves."""
        now_s = self._clock.wall_s()
        name = self._place(caller)
        self._count(name, now_s)
        self._kept.later(_row(name, now_s))

    async def aclose(self) -> None:
        await self._kept.aclose()

    def __len__(self) -> int:
        return len(self._of)

    def _count(self, name: str, at_s: float) -> None:
        self._of.setdefault(name, deque(maxlen=MAX_REFUSED)).append(at_s)

    def _place(self, caller: str) -> str:
        if caller in self._of or len(self._of) < MAX_CALLERS:
            return caller
        now_s = self._clock.wall_s()
        for name, times in list(self._of.items()):
            _slide(times, now_s)
            if not times:
                del self._of[name]
        return caller if len(self._of) < MAX_CALLERS else OTHERS


def _slide(times: deque[float], now_s: float) -> None:
    """Leave only what is in the window; a clock that went back makes nothing last longer."""
    for at, at_s in enumerate(times):
        times[at] = min(at_s, now_s)
    while times and times[0] <= now_s - WINDOW_S:
        times.popleft()


def _kept(db: sqlite3.Connection, now_s: float) -> list[tuple[str, float]]:
    db.execute("DELETE FROM refused WHERE at_s <= ?", (now_s - WINDOW_S,))
    rows = db.execute(
        "SELECT caller, at_s FROM refused ORDER BY at_s DESC LIMIT ?",
        (MAX_CALLERS * MAX_REFUSED,),
    )
    return list(reversed(rows.fetchall()))


def _row(caller: str, at_s: float) -> Callable[[sqlite3.Connection], object]:
    def keep(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM refused WHERE at_s <= ?", (at_s - WINDOW_S,))
        db.execute("INSERT INTO refused (caller, at_s) VALUES (?, ?)", (caller, at_s))

    return keep
