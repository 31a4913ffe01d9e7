from pathlib import Path

import pytest
from msgspec import structs

from agent.access.commands import HELP_TEXT
from agent.channels.base import Abilities
from agent.errors import StorageFull
from agent.messaging import inbox
from agent.messaging.dispatcher import COMMAND_FAILED_TEXT
from agent.messaging.worker import STOPPED_TEXT
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider, HeldProvider, StalledProvider
from tests.waits import stays, wait_until


@pytest.mark.parametrize("command", ["/jobs", "/plot temperature"])
async def test_a_command_that_breaks_is_answered_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    async def breaks(*_: object, **_more: object) -> str:
        raise ValueError("year 10000 is out of range")

    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        monkeypatch.setattr(agent.dispatcher._conversations, "jobs", breaks)
        agent.dispatcher._desk = structs.replace(agent.dispatcher._desk, plot=breaks)
        await agent.say(command)
        assert await channel.wait_for(1) == [COMMAND_FAILED_TEXT]
        assert await agent.journal.transact(inbox.unanswered) == []


async def test_a_stop_that_there_is_no_room_to_note_is_not_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_job: object) -> None:
        raise StorageFull("no room")

    channel, provider = FakeChannel(), StalledProvider()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("hi")
        await provider.asked.wait()
        with monkeypatch.context() as disk:
            disk.setattr(agent.journal, "transact", full)
            await agent.say("/stop", "2")
            (told,) = await channel.wait_for(1)
            assert told.startswith(STOPPED_TEXT)
            await stays(lambda: len(channel.sent) == 1, 0.05)
        await wait_until(agent.is_idle)


async def test_a_turn_that_a_new_conversation_overtook_does_not_begin_it(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), HeldProvider()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("what does that page say?", "1")
        await provider.asked.wait()
        await agent.say("/new", "2")
        await channel.wait_for(1)
        provider.go_on.set()
        await channel.wait_for(2)
        kept = await agent.journal.look(
            lambda db: db.execute("SELECT count(*) FROM turns").fetchone()
        )
        assert kept == (0,)
        await agent.say("hello", "3")
        await channel.wait_for(3)
        kept = await agent.journal.look(
            lambda db: db.execute("SELECT count(*) FROM turns").fetchone()
        )
    assert kept == (2,)


class MentionedChannel(FakeChannel):
    """Hears a stop in a group only where it is mentioned."""

    abilities = Abilities(group_stop="Mention me with `/stop` and `/estop`.")


async def test_help_says_in_a_group_how_it_is_stopped_there(tmp_path: Path) -> None:
    channel = MentionedChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("/help")
        in_group = structs.replace(message("/help", "2"), is_group=True)
        await agent.dispatcher.deliver(in_group, agent.tasks)
        private, told = await channel.wait_for(2)
    assert private == HELP_TEXT
    assert told == f"{HELP_TEXT}\n\n{channel.abilities.group_stop}"


async def test_a_stop_that_says_more_breaks_off_the_turn_and_is_a_message(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), StalledProvider()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("think for ever")
        await provider.asked.wait()
        provider.asked.clear()
        await agent.say("/stop the pump at six", "2")
        assert await channel.wait_for(1) == [STOPPED_TEXT]
        # It is a message as before, and nothing of what it may mean is lost
        await provider.asked.wait()
        await agent.say("/stop please", "3")
        assert await channel.wait_for(2) == [STOPPED_TEXT, STOPPED_TEXT]
        await wait_until(agent.is_idle)
