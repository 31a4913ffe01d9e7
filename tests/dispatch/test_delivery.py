import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.dispatch.delivery import Delivery
from agent.dispatch.journal import open_journal
from tests.fakes.channel import DesertedChannel, FakeChannel, LeavingChannel, SlowChannel
from tests.fakes.clock import SteppedClock


@asynccontextmanager
async def delivering(folder: Path, channel: FakeChannel) -> AsyncIterator[Delivery]:
    journal = open_journal(folder / "agent.db")
    try:
        yield Delivery(journal, {channel.name: channel}, SteppedClock())
    finally:
        await journal.aclose()


async def caught_up(delivery: Delivery, recipient: str) -> None:
    async with asyncio.TaskGroup() as tasks:
        await delivery.catch_up("fake", recipient, tasks)


@pytest.mark.parametrize("channel", [DesertedChannel(), LeavingChannel()])
async def test_what_nobody_takes_waits_for_whoever_comes(
    tmp_path: Path, channel: DesertedChannel
) -> None:
    async with delivering(tmp_path, channel) as delivery:
        for number in range(10):
            message = await delivery.announce("fake", "chat", f"news {number}")
            assert message is not None
            assert not await delivery.send(message)
        channel.is_attended = True
        await caught_up(delivery, "somebody else")
        assert channel.sent == []
        await caught_up(delivery, "chat")
        await caught_up(delivery, "chat")
    assert [sent.text for sent in channel.sent] == [f"news {number}" for number in range(10)]


async def test_whoever_comes_while_it_is_being_sent_does_not_get_it_twice(tmp_path: Path) -> None:
    channel = SlowChannel()
    async with delivering(tmp_path, channel) as delivery:
        message = await delivery.announce("fake", "chat", "news")
        assert message is not None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(delivery.send(message))
            for _ in range(3):
                await delivery.catch_up("fake", "chat", tasks)
            channel.goes_on.set()
        await caught_up(delivery, "chat")
    assert len(channel.sent) == 1
