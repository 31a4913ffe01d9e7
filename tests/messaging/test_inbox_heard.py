from pathlib import Path

from msgspec.structs import replace

from agent.memory.base import HeardMessage
from agent.messages import Inbound, Provenance, Whose
from agent.messaging import inbox
from agent.messaging.inbox import answered_since
from agent.messaging.journal import InboxState, open_agent_db
from agent.storage.worker import DatabaseWorker


async def accept(journal: DatabaseWorker, number: int, state: InboxState | None) -> None:
    inbound = Inbound(
        str(number), "telegram", "mei", "chat", f"text {number}", 1.0, Provenance.USER, "topic"
    )

    def job(db: object) -> None:
        accepted = inbox.accept(db, inbound)  # type: ignore[arg-type]  # a connection
        assert accepted is not None
        if state is not None:
            inbox.close(db, accepted.inbox_id, state)  # type: ignore[arg-type]  # the same

    await journal.transact(job)


async def test_answered_messages_are_heard_in_order_and_none_twice(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    for number in range(1, 5):
        state = InboxState.PARKED if number == 2 else InboxState.ANSWERED
        await accept(journal, number, state)
    heard = await answered_since(journal, 0, 2)
    assert heard[0] == HeardMessage(
        1, "mei", "telegram_chat_topic_mei", "text 1", Provenance.USER, 1.0
    )
    assert [one.heard_id for one in heard] == [1, 3]
    assert [one.heard_id for one in await answered_since(journal, 3, 9)] == [4]
    await journal.aclose()


async def test_nothing_behind_an_open_message_is_heard_before_it(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    for number, state in ((1, InboxState.ANSWERED), (2, None), (3, InboxState.ANSWERED)):
        await accept(journal, number, state)
    assert [one.heard_id for one in await answered_since(journal, 0, 9)] == [1]
    await journal.transact(lambda db: inbox.close(db, 2, InboxState.ANSWERED))
    assert [one.heard_id for one in await answered_since(journal, 1, 9)] == [2, 3]
    await journal.aclose()


async def test_what_a_job_began_was_said_by_nobody(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    inbound = Inbound("1", "fake", "mei", "chat", "water", 1.0, Provenance.OWNER, strand="job-tea")
    inbound = replace(inbound, quoted="tea?", quoted_of=Whose.AGENTS)

    def job(db: object) -> None:
        accepted = inbox.accept(db, inbound)  # type: ignore[arg-type]  # a connection
        assert accepted is not None
        assert inbox.unanswered(db)[0].message == inbound  # type: ignore[arg-type]  # the same
        inbox.close(db, accepted.inbox_id, InboxState.ANSWERED)  # type: ignore[arg-type]  # the same

    await journal.transact(job)
    assert await answered_since(journal, 0, 9) == []
    await journal.aclose()


async def test_what_was_said_is_kept_for_whoever_they_are_to_us(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    inbound = Inbound("1", "signal", "uuid", "uuid", "tea", 1.0, Provenance.OWNER, person="owner")

    def job(db: object) -> None:
        accepted = inbox.accept(db, inbound)  # type: ignore[arg-type]  # a connection
        assert accepted is not None
        inbox.close(db, accepted.inbox_id, InboxState.ANSWERED)  # type: ignore[arg-type]  # the same

    await journal.transact(job)
    assert await answered_since(journal, 0, 9) == [
        HeardMessage(1, "owner", "signal_uuid_uuid", "tea", Provenance.OWNER, 1.0)
    ]
    await journal.aclose()


async def test_what_others_heard_too_is_said_with_its_group(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    inbound = Inbound("1", "telegram", "mei", "-5", "tea", 1.0, Provenance.USER, is_group=True)

    def job(db: object) -> None:
        accepted = inbox.accept(db, inbound)  # type: ignore[arg-type]  # a connection
        assert accepted is not None
        inbox.close(db, accepted.inbox_id, InboxState.ANSWERED)  # type: ignore[arg-type]  # the same

    await journal.transact(job)
    [heard] = await answered_since(journal, 0, 9)
    assert heard.group == inbound.address.chat == "telegram:-5"
    await journal.aclose()
