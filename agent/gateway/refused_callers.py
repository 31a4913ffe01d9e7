"""Limiter of refused callers: a sliding window that survives a restart.

Always on. The table is bounded: whoever comes when it is full shares one place with all others.
Nothing is written for a caller who has reached the limit, so that a flood costs no storage.
"""

import hashlib
import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path

from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# A person who mistypes stays below; who guesses 32 bytes gets nowhere
MAX_REFUSED = 10
WINDOW_S = 300.0
# Callers that are told apart
MAX_CALLERS = 1000
OTHERS = "others"
# Tells wrong tokens apart, and tells nothing of them
_DIGEST_CHARS = 8

_MIGRATIONS = (
    """
    CREATE TABLE refused (caller TEXT NOT NULL, at_s REAL NOT NULL);
    CREATE INDEX refused_by_time ON refused (at_s)
    """,
)


class RefusalLimiter:
    """Counter of refusals, in wall time, which outlives the process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._kept = DatabaseWorker(path, _MIGRATIONS)
        self._clock = clock
        self._of: dict[str, deque[float]] = {}

    async def begin(self) -> None:
        """Load the counts of earlier runs.

        Raises:
            StorageFull: it cannot be known, so nobody may be let in.
        """
        now_s = self._clock.wall_s()
        rows = await self._kept.transact(lambda db: _kept(db, now_s))
        for caller, at_s in rows:
            self._count(caller, min(at_s, now_s))

    def wait_s(self, caller: str, guess: str = "") -> float:
        """Return the seconds until the caller is heard again; 0 for now.

        Args:
            guess: the wrong token that is told, if one is.
        """
        now_s = self._clock.wall_s()
        return max(self._wait_s(name, now_s) for name in _names(caller, guess))

    def note(self, caller: str, guess: str = "") -> None:
        """Count a refusal for wrong claims of the caller.

        One wrong token that is told again and again counts once for the caller, then for itself
        alone: a program with an old token does not keep out others of its address.
        """
        now_s = self._clock.wall_s()
        caller, *of_guess = (self._place(name) for name in _names(caller, guess))
        is_new = not any(self._of.get(name) for name in of_guess)
        for name in [caller, *of_guess] if is_new else of_guess:
            self._count(name, now_s)
            self._kept.later(_row(name, now_s))

    async def aclose(self) -> None:
        await self._kept.aclose()

    def __len__(self) -> int:
        return len(self._of)

    def _wait_s(self, name: str, now_s: float) -> float:
        times = self._of.get(self._place(name), deque())
        _slide(times, now_s)
        return times[0] + WINDOW_S - now_s if len(times) >= MAX_REFUSED else 0.0

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


def _names(caller: str, guess: str) -> tuple[str, ...]:
    """Return the counted names: the caller, and a few digits of the token's hash."""
    if not guess:
        return (caller,)
    digest = hashlib.sha256(guess.encode()).hexdigest()[:_DIGEST_CHARS]
    return caller, f"{caller} {digest}"


def _slide(times: deque[float], now_s: float) -> None:
    """Drop what has left the window; a clock set back extends nothing."""
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
