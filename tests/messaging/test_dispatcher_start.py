"""What happens while an agent starts, and looks at what an earlier run has left."""

from pathlib import Path

from agent.messaging import inbox
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
