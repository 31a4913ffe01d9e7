import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.messaging.journal import open_agent_db
from agent.providers.spending import SpendingLedger, Spent, read_day
from agent.storage.worker import DatabaseWorker, Job, R
from agent.turn import history
from tests.fakes.clock import SteppedClock

ONE = Spent(1, 100, 20, 10, 0, 0.25)
DAY_S = 24 * 3600


class FullDisk(DatabaseWorker):
    """Takes nothing while it is full."""

    is_full = False

    async def transact(self, job: Job[R]) -> R:
        if self.is_full:
            raise StorageFull("no room")
        return await super().transact(job)


class DiskThatFillsUp(DatabaseWorker):
    """Has no room any more when a change is about to be kept."""

    failures = 1

    async def transact(self, job: Job[R]) -> R:
        def failing(db: sqlite3.Connection) -> R:
            result = job(db)
            if self.failures:
                self.failures -= 1
                raise StorageFull("no room")
            return result

        return await super().transact(failing)


async def what_is_made_of_the_answer(journal: DatabaseWorker) -> None:
    """A commit like that of an answer, which nothing that was counted comes after."""
    await journal.transact(lambda _db: None)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    opened = open_agent_db(tmp_path / "agent.db")
    yield opened
    await opened.aclose()


@pytest.fixture
def ledger(journal: DatabaseWorker, clock: SteppedClock) -> SpendingLedger:
    return SpendingLedger(journal, clock)


async def test_a_day_and_a_conversation_are_counted(ledger: SpendingLedger) -> None:
    await ledger.add("a", ONE)
    after = await ledger.add("b", ONE)
    assert after.day == Spent(2, 200, 40, 20, 0, 0.5)
    assert after.conversation == ONE
    assert await ledger.standing("a") == await ledger.standing("b")
    assert (await ledger.standing("c")).conversation == Spent()


async def test_what_belongs_to_no_conversation_counts_for_the_day_alone(
    ledger: SpendingLedger,
) -> None:
    after = await ledger.add("", ONE)
    assert (after.day, after.conversation) == (ONE, Spent())


async def test_a_new_day_begins_with_nothing_and_a_conversation_goes_on(
    ledger: SpendingLedger, clock: SteppedClock
) -> None:
    await ledger.add("a", ONE)
    clock.advance(DAY_S)
    assert ledger.seen_today == Spent()
    standing = await ledger.standing("a")
    assert (standing.day, standing.conversation) == (Spent(), ONE)


async def test_what_is_counted_without_a_look_is_seen_at_once_and_kept(
    ledger: SpendingLedger, journal: DatabaseWorker, clock: SteppedClock
) -> None:
    ledger.count("a", ONE)
    assert ledger.seen_today == ONE
    await what_is_made_of_the_answer(journal)
    ledger.count("a", ONE)
    assert ledger.seen_today.requests == 2
    assert (await ledger.standing("a")).conversation.requests == 2
    clock.advance(DAY_S)
    ledger.count("a", ONE)
    assert ledger.seen_today == ONE


async def test_counts_outlive_the_agent(
    ledger: SpendingLedger, journal: DatabaseWorker, clock: SteppedClock, tmp_path: Path
) -> None:
    await ledger.add("a", ONE)
    await what_is_made_of_the_answer(journal)
    # As after a kill: nobody has closed anything
    other = open_agent_db(tmp_path / "agent.db")
    later = SpendingLedger(other, clock)
    assert (await later.standing("a")).conversation == ONE
    assert later.seen_today == ONE
    await other.aclose()


async def test_a_new_conversation_begins_with_nothing_and_the_day_goes_on(
    ledger: SpendingLedger, journal: DatabaseWorker
) -> None:
    await ledger.add("a", ONE)
    await journal.transact(lambda db: history.clear(db, "a"))
    standing = await ledger.standing("a")
    assert (standing.day, standing.conversation) == (ONE, Spent())


async def test_on_a_full_disk_it_counts_all_the_same_and_is_written_once_there_is_room(
    tmp_path: Path, clock: SteppedClock
) -> None:
    empty = open_agent_db(tmp_path / "agent.db")
    journal = FullDisk(tmp_path / "agent.db", empty._migrations)
    ledger = SpendingLedger(journal, clock)
    await ledger.standing("a")
    journal.is_full = True
    assert (await ledger.add("a", ONE)).day == ONE
    assert (await ledger.add("a", ONE)).conversation.requests == 2
    assert read_day(tmp_path / "agent.db", ledger.day) == Spent()
    journal.is_full = False
    assert (await ledger.add("a", ONE)).day.requests == 3
    await what_is_made_of_the_answer(journal)
    assert (await ledger.standing("a")).day.requests == 3
    written = read_day(tmp_path / "agent.db", ledger.day)
    assert written is not None
    assert written.requests == 3
    await journal.aclose()


async def test_what_could_not_be_kept_in_the_end_is_neither_lost_nor_counted_twice(
    tmp_path: Path, clock: SteppedClock
) -> None:
    journal = DiskThatFillsUp(tmp_path / "agent.db", open_agent_db(tmp_path / "x")._migrations)
    ledger = SpendingLedger(journal, clock)
    assert (await ledger.add("a", ONE)).day.requests == 1
    assert (await ledger.add("a", ONE)).day.requests == 2
    assert (await ledger.standing("a")).day.requests == 2
    await journal.aclose()


async def test_another_process_reads_the_day(
    ledger: SpendingLedger, journal: DatabaseWorker, tmp_path: Path
) -> None:
    await ledger.add("a", ONE)
    await what_is_made_of_the_answer(journal)
    assert read_day(tmp_path / "agent.db", ledger.day) == ONE
    assert read_day(tmp_path / "agent.db", "1999-01-01") == Spent()


@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 100])
def test_where_nothing_can_be_read_nothing_is_said(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "agent.db"
    if content is not None:
        path.write_bytes(content)
    assert read_day(path, "2026-11-20") is None
    assert path.exists() == (content is not None)


def test_what_was_spent_is_told_in_words() -> None:
    assert Spent(1, 1000, 234, 0, 0, 0.0123).in_words() == "1 request, 1,234 tokens, 0.0123 USD"
    assert Spent(2, 10, 5, 0, 7, 0.5).in_words(1.0) == (
        "2 requests, 15 tokens, 0.5000 of 1.00 USD (price unknown for 7 tokens)"
    )
    assert Spent(1, 1, 1, 0, 0, 1.234).in_words(0.005).endswith("1.23 of 0.0050 USD")
    assert (Spent().in_words(), Spent().in_words(2)) == ("nothing", "nothing of 2.00 USD")
