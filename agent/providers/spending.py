"""Spending: requests, tokens and money, by day and by conversation, kept in the journal.

A count is on the disk no later than what is made of the answer. Where the disk is full it is kept
until there is room, and counts all the same.
"""

import contextlib
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from agent.errors import StorageFull
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

_DAY, _CONVERSATION = "day", "conversation"
# Somebody else writes: a status is not worth waiting longer
_READ_TIMEOUT_S = 1.0


class Spent(Struct, frozen=True):
    """Requests and their cost.

    Args:
        unpriced_tokens: those whose price nobody knows.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unpriced_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, n) + getattr(other, n) for n in _COLUMNS))

    def in_words(self, limit_usd: float = 0.0) -> str:
        """Return words such as ``3 requests, 1,234 tokens, 0.0120 of 1.00 USD``."""
        most = f" of {usd_in_words(limit_usd)}" if limit_usd else ""
        if not self.requests:
            return f"nothing{most} USD" if most else "nothing"
        plural = "" if self.requests == 1 else "s"
        usd = usd_in_words(self.usd)
        said = f"{self.requests} request{plural}, {self.tokens:,} tokens, {usd}{most} USD"
        if self.unpriced_tokens:
            said += f" (price unknown for {self.unpriced_tokens:,} tokens)"
        return said


# Day, conversation and what it was
_Entry = tuple[str, str, Spent]
_COLUMNS = Spent.__struct_fields__
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM spent WHERE kind = ? AND name = ?"  # noqa: S608 - constants only
_ADD = (
    f"INSERT INTO spent (kind, name, {', '.join(_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants only
    " ON CONFLICT (kind, name) DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _COLUMNS)
)


def usd_in_words(amount: float) -> str:
    """Return an amount with enough digits: a request costs parts of a cent."""
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.4f}"


class SpendingTotals(Struct, frozen=True):
    """Spending of today, and of a conversation since it began."""

    day: Spent = Spent()
    conversation: Spent = Spent()


class SpendingLedger:
    """Keeps count.

    Args:
        journal: has the table `spent`.
    """

    def __init__(self, journal: DatabaseWorker, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._unwritten: list[_Entry] = []
        self._seen = ("", Spent())

    @property
    def day(self) -> str:
        """Return today's date in the device's time zone."""
        return today(self._clock.wall_s())

    @property
    def seen_today(self) -> Spent:
        """Return today's spending, as of the last count or look."""
        day, spent = self._seen
        return spent if day == self.day else Spent()

    async def standing(self, conversation: str) -> SpendingTotals:
        day = self.day

        def look(db: sqlite3.Connection) -> SpendingTotals:
            # Where writing goes on too, so that nothing is counted twice or not at all
            return self._with_unwritten(_standing(db, day, conversation), day, conversation)

        try:
            return await self._journal.look(look)
        except StorageFull:
            # There is no database, and no room to make one
            return self._with_unwritten(SpendingTotals(), day, conversation)

    async def add(self, conversation: str, spent: Spent) -> SpendingTotals:
        """Count a request and return the new spending."""
        self.count(conversation, spent)
        return await self.standing(conversation)

    def count(self, conversation: str, spent: Spent) -> None:
        """Count a request without returning the new spending."""
        self._seen = (self.day, self.seen_today + spent)
        entry: _Entry = (self.day, conversation, spent)
        self._unwritten.append(entry)
        # With the next commit: whatever is made of the answer is not on the disk before this
        self._journal.later(
            lambda db: _write(db, [entry]), committed=lambda: self._unwritten.remove(entry)
        )

    def _with_unwritten(self, stood: SpendingTotals, day: str, conversation: str) -> SpendingTotals:
        for when, where, spent in self._unwritten:
            if when == day:
                stood = SpendingTotals(stood.day + spent, stood.conversation)
            if where and where == conversation:
                stood = SpendingTotals(stood.day, stood.conversation + spent)
        self._seen = (day, stood.day)
        return stood


def today(wall_s: float) -> str:
    """Return the day as YYYY-MM-DD."""
    return time.strftime("%Y-%m-%d", time.localtime(wall_s))


def read_day(path: Path, day: str) -> Spent | None:
    """Return a day's count for another process; None if nothing can be read."""
    address = f"file:{quote(str(path))}?mode=ro"
    try:
        with contextlib.closing(
            sqlite3.connect(address, uri=True, timeout=_READ_TIMEOUT_S)
        ) as connection:
            return _of(connection, _DAY, day)
    except sqlite3.Error:
        return None


def _standing(db: sqlite3.Connection, day: str, conversation: str) -> SpendingTotals:
    return SpendingTotals(_of(db, _DAY, day), _of(db, _CONVERSATION, conversation))


def _of(db: sqlite3.Connection, kind: str, name: str) -> Spent:
    row = db.execute(_SELECT, (kind, name)).fetchone()
    return Spent() if row is None else Spent(*row)


def _write(db: sqlite3.Connection, waiting: list[_Entry]) -> None:
    for when, where, spent in waiting:
        numbers = tuple(getattr(spent, name) for name in _COLUMNS)
        db.execute(_ADD, (_DAY, when, *numbers))
        if where:
            db.execute(_ADD, (_CONVERSATION, where, *numbers))
