"""F04: without room it goes on answering, says so once, acts on nothing, and recovers by itself.

The limit is the kernel's, on the size of this process's files, with the real database.
"""

import asyncio
import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.messaging import inbox, outbox
from agent.messaging.conversation import NOT_KEPT_TEXT
from tests.fakes.channel import FakeChannel, RefusingChannel, message
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import EchoProvider, HeldProvider, ScriptedProvider, calls
from tests.fakes.tools import CountingTool
from tests.waits import wait_until


@contextlib.contextmanager
def full_disk(most_bytes: int) -> Iterator[None]:
    """No file grows beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def log_bytes(folder: Path) -> int:
    return (folder / "agent.db-wal").stat().st_size


async def settled(agent: Running) -> None:
    """What can wait is written."""
    await agent.journal.transact(lambda _db: None)


async def test_it_answers_says_so_once_and_recovers(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("before", "1")
        await channel.wait_for(1)
        await settled(agent)
        with full_disk(log_bytes(tmp_path)):
            for number in (2, 3):
                await agent.say(f"full {number}", f"{number}")
                await channel.wait_for(number)
            # The platform sends again what it thinks is not received
            await agent.say("full 3", "3")
        await agent.say("after", "4")
        said = await channel.wait_for(4)
        await settled(agent)
        assert await agent.journal.transact(inbox.unanswered) == []
        assert await agent.journal.transact(outbox.undelivered) == []
    assert said == [
        "echo: before",
        f"echo: full 2\n\n{NOT_KEPT_TEXT}",
        "echo: full 3",
        "echo: after",
    ]


async def test_no_room_at_any_write_of_a_turn_loses_no_answer(tmp_path: Path) -> None:
    channel, said = FakeChannel(), 0
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("warm up", "warm")
        await channel.wait_for(1)
        await settled(agent)
        # Room for a little more each time: another write of the turn is the first that fails
        for room in range(0, 9 * 536, 268):
            with full_disk(log_bytes(tmp_path) + room):
                await agent.say(f"{room}", f"{room}")
                said += 1
                assert (await channel.wait_for(1 + said))[-1].startswith(f"echo: {room}")
            await settled(agent)
        assert await agent.journal.transact(outbox.undelivered) == []


async def test_what_cannot_be_recorded_is_not_done(tmp_path: Path) -> None:
    channel, tool = FakeChannel(), CountingTool()
    provider = ScriptedProvider("hi", calls(("lamp", '{"value":"on"}')), "it did not work")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await agent.say("before", "1")
        await channel.wait_for(1)
        await settled(agent)
        with full_disk(log_bytes(tmp_path)):
            await agent.say("lamp on", "2")
            await channel.wait_for(2)
    assert tool.uses == []
    assert "could not be recorded" in provider.requests[-1].messages[-1].text


async def test_what_was_refused_for_want_of_room_is_not_done_at_the_next_start(
    tmp_path: Path,
) -> None:
    channel, provider = FakeChannel(), HeldProvider()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("first", "1")
        await provider.asked.wait()
        # Accepted while there is room, and its turn comes when there is none
        await agent.say("lamp on", "2")
        with full_disk(log_bytes(tmp_path)):
            provider.go_on.set()
            said = await channel.wait_for(2)
        await wait_until(agent.is_idle)
    assert "I cannot work now" in said[-1]
    again = EchoProvider()
    async with running(tmp_path, again, channel) as agent:
        await agent.dispatcher.resume(agent.tasks)
        await agent.say("after", "3")
        assert await channel.wait_for(3) == [*said, "echo: after"]


async def test_a_command_that_was_refused_for_want_of_room_is_not_obeyed_later(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("before", "1")
        await channel.wait_for(1)
        await settled(agent)
        # Enough to accept it, not to forget a conversation
        await agent.journal.transact(lambda db: inbox.accept(db, message("/new", "2")))
        with full_disk(log_bytes(tmp_path)):
            await agent.dispatcher.resume(agent.tasks)
            said = await channel.wait_for(2)
        await wait_until(agent.is_idle)
    assert said[-1].startswith("I cannot do that")


async def test_what_nobody_was_told_is_answered_at_the_next_start(tmp_path: Path) -> None:
    channel, provider = RefusingChannel(refusals=99), HeldProvider()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("first", "1")
        await provider.asked.wait()
        await agent.say("second", "2")
        with full_disk(log_bytes(tmp_path)):
            provider.go_on.set()
            await wait_until(lambda: channel.tries >= 2)
        await settled(agent)
        left = [one.message.text for one in await agent.journal.transact(inbox.unanswered)]
    assert left == ["first", "second"]


async def test_the_log_says_it_once_however_often_it_is_met(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, EchoProvider(), FakeChannel()) as agent:
        await settled(agent)
        with full_disk(log_bytes(tmp_path)):
            for number in range(20):
                agent.journal.later(lambda db, name=number: db.execute(f"CREATE TABLE t{name} (a)"))
                await agent.journal.look(lambda _db: None)
                await asyncio.get_running_loop().run_in_executor(
                    agent.journal._thread, agent.journal._write_later
                )
        assert caplog.text.count("write postponed") == 1
        await settled(agent)
        tables = await agent.journal.look(
            lambda db: db.execute(
                "SELECT count(*) FROM sqlite_schema WHERE name GLOB 't[0-9]*'"
            ).fetchone()[0]
        )
    assert tables == 20


async def test_whoever_comes_meanwhile_is_let_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("before", "0")
        await channel.wait_for(1)
        await settled(agent)
        agent.journal.later(lambda db: db.execute("CREATE TABLE waits (a)"))
        with full_disk(log_bytes(tmp_path)):
            for _ in range(20):
                # A terminal looks every ten seconds; what waits for it stays where it is
                await agent.dispatcher.catch_up("fake", "me", agent.tasks)
    assert caplog.text.count("outbox not readable") == 1
