"""What happens while an agent starts, and looks at what an earlier run has left."""

from functools import partial
from pathlib import Path

import pytest

from agent.messaging import inbox
from agent.messaging.journal import open_agent_db
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider
from tests.waits import stays


async def test_what_begins_by_itself_at_the_start_is_answered_once(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        begun = agent.tasks.create_task(agent.dispatcher.begin(message("it is dry"), agent.tasks))
        # It waits for the start, which here takes a moment
        await stays(lambda: not begun.done(), 0.05)
        await agent.dispatcher.resume(agent.tasks)
        await begun
        await agent.say("hi", "2")
        assert await channel.wait_for(2) == ["echo: it is dry", "echo: hi"]
        assert await agent.journal.transact(inbox.unanswered) == []


async def test_what_is_told_at_the_start_is_sent_once(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        delivery = agent.dispatcher._delivery
        told = await delivery.announce("fake", "me", "it is dry")
        assert told is not None
        sending = agent.tasks.create_task(delivery.send(told))
        await agent.dispatcher.resume(agent.tasks)
        await sending
        await agent.say("hi")
        assert await channel.wait_for(2) == ["it is dry", "echo: hi"]


@pytest.mark.parametrize(
    "change", ["SET channel = 'gone'", "SET more = 'damaged'"], ids=["channel gone", "damaged"]
)
async def test_what_nobody_answers_keeps_no_other_message_from_the_memory(
    tmp_path: Path, change: str
) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    for number in range(2):
        left = message("hi", f"left {number}")
        await journal.transact(partial(inbox.accept, message=left))
    await journal.transact(lambda db: db.execute(f"UPDATE inbox {change} WHERE id = 1"))
    await journal.aclose()
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        assert await agent.dispatcher.answered_since(0, 9) == []
        await agent.dispatcher.resume(agent.tasks)
        await agent.say("I like tea")
        assert await channel.wait_for(2) == ["echo: hi", "echo: I like tea"]
        heard = await agent.dispatcher.answered_since(0, 9)
        assert [one.text for one in heard] == ["hi", "I like tea"]
        # It is as it was, for a start with its channel
        assert await agent.journal.look(inbox.open_ids) == {1}
