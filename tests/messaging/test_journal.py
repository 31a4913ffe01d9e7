"""Inbox, outbox and session share one database and one transaction."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from agent.messages import Attachment, Outbound, Provenance, ToolCall
from agent.messaging import inbox, outbox
from agent.messaging.inbox import Accepted
from agent.messaging.journal import MIGRATIONS, InboxState, open_agent_db
from agent.messaging.outbox import MAX_ANNOUNCEMENTS_KEPT
from agent.storage.worker import DatabaseWorker
from agent.turn import history as turn_history
from tests.fakes.channel import message
from tests.fakes.said import assistant_said, tool_said, user_said


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    worker = open_agent_db(tmp_path / "agent.db")
    yield worker
    await worker.aclose()


async def test_a_message_is_accepted_once(journal: DatabaseWorker) -> None:
    first = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    again = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    assert first is not None
    assert again is None


async def test_the_same_id_of_another_channel_is_another_message(journal: DatabaseWorker) -> None:
    await journal.transact(lambda db: inbox.accept(db, message("hi", channel="a")))
    other = await journal.transact(lambda db: inbox.accept(db, message("hi", channel="b")))
    assert other is not None


async def test_what_was_accepted_comes_back_as_it_was(journal: DatabaseWorker) -> None:
    inbound = message("打开led灯 \U0001f600\n--")
    await journal.transact(lambda db: inbox.accept(db, inbound))
    (left,) = await journal.transact(inbox.unanswered)
    assert left.message == inbound
    assert (left.attempts, left.acted) == (0, False)


async def test_what_came_with_a_message_comes_back_with_it(journal: DatabaseWorker) -> None:
    inbound = structs.replace(
        message("look"),
        thread="7",
        strand="job-tea",
        is_group=True,
        sender_name="Ann",
        quoted="what was said",
        sent_at_s=1_700_000_000.5,
        attachments=(Attachment("/a/b.png", "image/png", "b", 12),),
        person="p1",
    )
    await journal.transact(lambda db: inbox.accept(db, inbound))
    (left,) = await journal.transact(inbox.unanswered)
    assert left.message == inbound


async def test_files_wait_in_the_outbox_with_their_answer(journal: DatabaseWorker) -> None:
    accepted = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    assert accepted is not None
    files = (Attachment("/a/b.png", "image/png", "b", 12),)
    answer = await journal.transact(lambda db: outbox.add(db, accepted, "see", files))
    assert answer.files == files
    assert await journal.transact(outbox.undelivered) == [structs.replace(answer, was_left=True)]


async def test_a_turn_that_was_cut_short_does_not_count(journal: DatabaseWorker) -> None:
    accepted = await journal.transact(lambda db: inbox.accept(db, message("hi"), begins=True))
    assert accepted is not None
    await journal.transact(lambda db: inbox.put_back(db, accepted.inbox_id))
    (left,) = await journal.transact(inbox.unanswered)
    assert left.attempts == 0


async def test_attempts_and_effects_are_remembered(journal: DatabaseWorker) -> None:
    accepted = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    assert accepted is not None
    await journal.transact(lambda db: inbox.begin(db, accepted.inbox_id))
    await journal.transact(lambda db: inbox.mark_acted(db, accepted))
    again = await journal.transact(lambda db: inbox.again(db, accepted))
    assert (again.attempts, again.acted) == (1, True)


async def test_an_answered_message_is_not_left_over(journal: DatabaseWorker) -> None:
    accepted = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    assert accepted is not None
    await journal.transact(lambda db: inbox.close(db, accepted.inbox_id, InboxState.ANSWERED))
    assert await journal.transact(inbox.unanswered) == []


async def test_an_answer_waits_until_it_is_sent(journal: DatabaseWorker) -> None:
    accepted = await journal.transact(lambda db: inbox.accept(db, message("hi")))
    assert accepted is not None
    answer = await journal.transact(lambda db: outbox.add(db, accepted, "hello"))
    assert await journal.transact(outbox.undelivered) == [structs.replace(answer, was_left=True)]
    await journal.transact(lambda db: outbox.mark_sent(db, answer.outbox_id))
    assert await journal.transact(outbox.undelivered) == []


async def test_what_nobody_asked_for_waits_as_well_and_the_oldest_are_given_up(
    journal: DatabaseWorker,
) -> None:
    await journal.transact(lambda db: outbox.announce(db, "terminal", "somebody else", "hi"))
    for number in range(MAX_ANNOUNCEMENTS_KEPT + 2):
        text = f"dry {number}"
        await journal.transact(lambda db, text=text: outbox.announce(db, "terminal", "local", text))
    waiting = await journal.transact(outbox.undelivered)
    assert [one.text for one in waiting][:2] == ["hi", "dry 2"]
    assert len(waiting) == 1 + MAX_ANNOUNCEMENTS_KEPT
    assert all(one.in_reply_to == "" for one in waiting)
    await journal.transact(lambda db: outbox.mark_sent(db, waiting[0].outbox_id))
    assert len(await journal.transact(outbox.undelivered)) == MAX_ANNOUNCEMENTS_KEPT


async def test_an_older_journal_keeps_its_answers(tmp_path: Path) -> None:
    older = DatabaseWorker(tmp_path / "agent.db", MIGRATIONS[:1])
    await older.transact(
        lambda db: db.execute(
            "INSERT INTO inbox (channel, message_id, sender, reply_target, text, provenance,"
            " received_at_s, state) VALUES ('fake', '1', 'owner', 'chat', 'hi', 5, 1800000000.0,"
            " 'accepted')"
        )
    )
    await older.transact(
        lambda db: db.execute(
            "INSERT INTO outbox (inbox_id, channel, recipient, in_reply_to, text, state)"
            " VALUES (1, 'fake', 'chat', '1', 'hello', 'pending')"
        )
    )
    accepted = Accepted(1, message("hi"))
    answer = Outbound(1, "fake", "chat", "hello", "1", was_left=True)
    await older.aclose()
    newer = open_agent_db(tmp_path / "agent.db")
    assert await newer.transact(outbox.undelivered) == [answer]
    assert await newer.transact(inbox.unanswered) == [accepted]
    await newer.transact(lambda db: outbox.announce(db, "terminal", "local", "dry"))
    await newer.aclose()


async def test_history_comes_back_in_order_with_its_tool_calls(journal: DatabaseWorker) -> None:
    call = ToolCall("c1", "lamp", '{"value":"on"}')
    said = (
        user_said("on"),
        assistant_said("", (call,)),
        tool_said(call, "done"),
        assistant_said("It is on."),
    )
    await journal.transact(
        lambda db: turn_history.append(db, "c", turn_history.History(said, Provenance.OWNER))
    )
    history = await journal.transact(lambda db: turn_history.history(db, "c"))
    assert history == turn_history.History(said, Provenance.OWNER)


async def test_a_failed_job_changes_nothing(journal: DatabaseWorker) -> None:
    def accept_and_fail(db: sqlite3.Connection) -> None:
        inbox.accept(db, message("hi"))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await journal.transact(accept_and_fail)
    assert await journal.transact(inbox.unanswered) == []
