import sqlite3
from pathlib import Path

import pytest

from agent.messages import Inbound, Provenance
from agent.messaging import earlier, inbox, outbox
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState, open_agent_db
from agent.turn import history
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider
from tests.fakes.said import user_said


def _said(db: sqlite3.Connection, number: int, channel: str = "fake") -> Accepted:
    inbound = Inbound(f"{number}", channel, "mei", "chat", "hi", 1.0, Provenance.USER)
    accepted = inbox.accept(db, inbound, begins=True)
    assert accepted is not None
    return accepted


def _answered(db: sqlite3.Connection, number: int, channel: str = "fake") -> None:
    accepted = _said(db, number, channel)
    outbox.mark_sent(db, outbox.add(db, accepted, "ho").outbox_id)
    inbox.close(db, accepted.inbox_id, InboxState.ANSWERED)


def _left(db: sqlite3.Connection, table: str) -> list[int]:
    return [row[0] for row in db.execute(f"SELECT id FROM {table} ORDER BY id")]


async def test_the_oldest_settled_messages_go_with_their_answers(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")

    def job(db: sqlite3.Connection) -> None:
        for number in range(1, 11):
            _answered(db, number)
        assert inbox.trim(db, most=4) == 6
        assert _left(db, "inbox") == _left(db, "outbox") == [7, 8, 9, 10]
        # The numbers go on: what is remembered by number stays behind them
        assert _said(db, 11).inbox_id == 11
        assert db.execute("SELECT turns FROM trimmed").fetchall() == [(6,)]

    await journal.transact(job)
    await journal.aclose()


async def test_what_is_open_or_unsent_stays_however_old_it_is(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")

    def job(db: sqlite3.Connection) -> None:
        _said(db, 1)
        unsent = _said(db, 2)
        outbox.add(db, unsent, "ho")
        inbox.close(db, unsent.inbox_id, InboxState.ANSWERED)
        told = _said(db, 3)
        inbox.close(db, told.inbox_id, InboxState.UNTOLD)
        for number in range(4, 8):
            _answered(db, number)
        assert inbox.trim(db, most=1) == 3
        assert _left(db, "inbox") == [1, 2, 3, 7]
        assert [one.text for one in outbox.undelivered(db)] == ["ho"]
        assert [one.inbox_id for one in inbox.unanswered(db)] == [1]

    await journal.transact(job)
    await journal.aclose()


async def test_a_noisy_channel_takes_nothing_from_a_quiet_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A platform repeats what it does not know to be taken, however much others say meanwhile."""
    monkeypatch.setattr(inbox, "LEAST_OF_CHANNEL", 2)
    journal = open_agent_db(tmp_path / "agent.db")

    def job(db: sqlite3.Connection) -> None:
        for number in range(1, 4):
            _answered(db, number, "quiet")
        for number in range(4, 11):
            _answered(db, number, "noisy")
        assert inbox.trim(db, most=4) == 4
        assert _left(db, "inbox") == [2, 3, 7, 8, 9, 10]
        again = Inbound("3", "quiet", "mei", "chat", "hi", 1.0, Provenance.USER)
        assert inbox.accept(db, again) is None

    await journal.transact(job)
    assert await inbox.is_settled(journal, "quiet", "3")
    await journal.aclose()


async def test_the_dispatcher_trims_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "LEAST_OF_CHANNEL", 1)
    monkeypatch.setattr(history.trim, "__defaults__", (1,))
    channel = FakeChannel()
    before = (inbox.MOST_SETTLED // inbox.TRIM_EVERY + 1) * inbox.TRIM_EVERY - 1

    def fill(db: sqlite3.Connection) -> None:
        for number in (101, 102):
            inbox.close(db, _said(db, number).inbox_id, InboxState.ANSWERED)
        # As if so many had come since
        db.execute("UPDATE inbox SET id = ? WHERE id = 2", (before,))
        for conversation in ("fake_a", "fake_b"):
            history.append(db, conversation, history.History((user_said("hi"),), Provenance.OWNER))

    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.journal.transact(fill)
        await agent.say("hi")
        assert await channel.wait_for(1) == ["echo: hi"]
        left = await agent.journal.transact(lambda db: _left(db, "inbox"))
        assert left == [before, before + 1]
        assert not await agent.journal.transact(lambda db: earlier.has_history(db, "fake_a"))
