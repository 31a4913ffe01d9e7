"""Ledger of the acts between devices: those asked of others, and those done for others.

An act that is done for another device is on the disk before it begins. What is found there without
a result after a start was cut off: nobody knows what it did, and it is not done again.
"""

import secrets
import sqlite3
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from agent.devices.wire import Outcome
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# Of one other device, the last ones, however old they are: a clock that is set would age them. Who
# brings so many new acts also asks after its open ones meanwhile, every few seconds, so that nobody
# asks for those before. One that comes again is not begun either, as its time is over
MAX_TAKEN = 20_000
# Results of so many are kept whole: whoever asked hears them within minutes or, later, cut. Each
# has up to 16 KB, and 20,000 of them would fill a card
WHOLE_TEXTS = 200
TOLD_CHARS = 300
_BOOK_BYTES = 8
_MIGRATIONS = (
    """
    CREATE TABLE book (id TEXT NOT NULL);
    CREATE TABLE taken (
        id TEXT NOT NULL, caller TEXT NOT NULL, at_s REAL NOT NULL,
        outcome TEXT NOT NULL, text TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (caller, id)
    );
    CREATE TABLE asked (
        id TEXT PRIMARY KEY, device TEXT NOT NULL, book TEXT NOT NULL, at_s REAL NOT NULL,
        words TEXT NOT NULL
    )
    """,
    # With the index the rows of one device stand in the order in which they came: nothing is sorted
    """
    CREATE INDEX taken_in_order ON taken (caller);
    UPDATE taken SET text = substr(text, 1, 300) WHERE length(text) > 300
    """,
)
NTH_NEWEST = (
    "SELECT rowid FROM taken INDEXED BY taken_in_order WHERE caller = :caller"
    " ORDER BY rowid DESC LIMIT 1 OFFSET :nth"
)


class AskedAct(Struct, frozen=True):
    """Act that was asked of another device, and whose outcome nobody was told yet.

    Args:
        book: the far ledger that has it, and our name in it.
    """

    id: str
    device: str
    book: str
    at_s: float
    words: str


class TakenAct(Struct, frozen=True):
    """Act for another device, as far as it is known."""

    outcome: Outcome
    text: str = ""


class DeviceLedger:
    """Acts of one device, kept over restarts."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._kept = DatabaseWorker(path, _MIGRATIONS)
        self._clock = clock
        self._book = ""

    async def book(self) -> str:
        """Return the name of this ledger: a lost one is followed by one of another name.

        Raises:
            StorageFull: it cannot be made.
        """
        if not self._book:
            self._book = await self._kept.transact(_book)
        return self._book

    async def take(self, caller: str, act: str) -> TakenAct | None:
        """Note that an act begins; return what is known of it if it came before.

        Raises:
            StorageFull: it is not on record and must not begin.
        """
        return await self._noted(caller, act, Outcome.AT_WORK)

    async def settle(self, caller: str, act: str) -> TakenAct:
        """Return what is known of an act; one that has not come is noted, so that it never begins.

        Raises:
            StorageFull: nobody can say.
        """
        found = await self._noted(caller, act, Outcome.NEVER)
        return TakenAct(Outcome.NEVER) if found is None else found

    async def known(self, caller: str, act: str) -> TakenAct | None:
        """Return what is on record of an act; None if it has not come.

        Raises:
            StorageFull: nobody can say.
        """
        return await self._kept.look(lambda db: _known(db, caller, act))

    async def end(self, caller: str, act: str, outcome: Outcome, text: str) -> None:
        """Note the result.

        Raises:
            StorageFull: it is not on record: nobody knows after the next start.
        """
        row = (outcome.value, text, caller, act)
        statement = "UPDATE taken SET outcome = ?, text = ? WHERE caller = ? AND id = ?"
        await self._run(statement, row)

    async def ask(self, act: AskedAct) -> None:
        """Note an act before it is asked for.

        Raises:
            StorageFull: it must not be asked for.
        """
        row = (act.id, act.device, act.book, act.at_s, act.words)
        await self._run("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", row)

    async def open(self, device: str) -> list[AskedAct]:
        """Return the acts of which nobody was told what became of them."""
        select = "SELECT id, device, book, at_s, words FROM asked WHERE device = ? ORDER BY at_s"
        rows = await self._kept.look(lambda db: db.execute(select, (device,)).fetchall())
        return [AskedAct(*row) for row in rows]

    async def open_elsewhere(self, devices: Collection[str]) -> list[AskedAct]:
        """Return the open acts of every other device than these."""
        select = "SELECT id, device, book, at_s, words FROM asked ORDER BY at_s"
        rows = await self._kept.look(lambda db: db.execute(select).fetchall())
        return [act for act in (AskedAct(*row) for row in rows) if act.device not in devices]

    async def is_open(self, act: str) -> bool:
        """Return true while nobody was told what became of an act."""
        select = "SELECT count(*) FROM asked WHERE id = ?"
        return await self._kept.look(lambda db: db.execute(select, (act,)).fetchone()[0] > 0)

    async def close(self, act: str) -> None:
        """Forget an act whose outcome was told."""
        await self._run("DELETE FROM asked WHERE id = ?", (act,))

    async def aclose(self) -> None:
        await self._kept.aclose()

    async def _run(self, statement: str, row: tuple[object, ...]) -> None:
        def run(db: sqlite3.Connection) -> None:
            db.execute(statement, row)

        await self._kept.transact(run)

    async def _noted(self, caller: str, act: str, outcome: Outcome) -> TakenAct | None:
        now_s = self._clock.wall_s()
        return await self._kept.transact(lambda db: _noted(db, caller, act, outcome, now_s))


def _book(db: sqlite3.Connection) -> str:
    row = db.execute("SELECT id FROM book").fetchone()
    if row is None:
        row = (secrets.token_hex(_BOOK_BYTES),)
        db.execute("INSERT INTO book VALUES (?)", row)
    return str(row[0])


def _known(db: sqlite3.Connection, caller: str, act: str) -> TakenAct | None:
    select = "SELECT outcome, text FROM taken WHERE caller = ? AND id = ?"
    row = db.execute(select, (caller, act)).fetchone()
    return None if row is None else TakenAct(Outcome(row[0]), row[1])


def _noted(
    db: sqlite3.Connection, caller: str, act: str, outcome: Outcome, now_s: float
) -> TakenAct | None:
    if (known := _known(db, caller, act)) is not None:
        return known
    db.execute(
        "INSERT INTO taken (id, caller, at_s, outcome) VALUES (?, ?, ?, ?)",
        (act, caller, now_s, outcome.value),
    )
    _forget_oldest(db, caller)
    return None


def _forget_oldest(db: sqlite3.Connection, caller: str) -> None:
    # What is still at work is never forgotten: nobody else knows of it. Rows are numbered as they
    # come, and there is no last one to forget where there are fewer
    db.execute(
        "DELETE FROM taken WHERE caller = :caller AND outcome != 'at work'"  # noqa: S608 - ours
        f" AND rowid <= ({NTH_NEWEST})",
        {"caller": caller, "nth": MAX_TAKEN},
    )
    db.execute(
        "UPDATE taken SET text = substr(text, 1, :chars)"  # noqa: S608 - ours
        f" WHERE rowid = ({NTH_NEWEST}) AND length(text) > :chars",
        {"caller": caller, "nth": WHOLE_TEXTS + 1, "chars": TOLD_CHARS},
    )
