import asyncio
from pathlib import Path

import pytest

from agent.channels.base import Channel
from agent.errors import StorageFull
from agent.messaging.database import open_agent_db
from agent.messaging.delivery import Delivery
from agent.messaging.tool_messages import ToolMessages
from agent.tools.send_message import Addressee
from tests.fakes.channel import FakeChannel
from tests.fakes.clock import SteppedClock

ANNA = Addressee("Anna", "fake", "4711")


async def test_it_is_kept_before_it_is_sent_and_arrives_once(tmp_path: Path) -> None:
    journal, channel, post = open_agent_db(tmp_path / "agent.db"), FakeChannel(), ToolMessages()
    delivery = Delivery(journal, {"fake": channel}, SteppedClock())
    async with asyncio.TaskGroup() as tasks:
        post.open(delivery, tasks)
        assert await post(ANNA, "tea is ready")
    assert [(one.recipient, one.text) for one in channel.sent] == [("4711", "tea is ready")]
    assert await delivery.left_over() == []
    await journal.aclose()


async def test_where_the_channel_is_not_there_it_waits_in_the_outbox(tmp_path: Path) -> None:
    journal, post = open_agent_db(tmp_path / "agent.db"), ToolMessages()
    channels: dict[str, Channel] = {}
    async with asyncio.TaskGroup() as tasks:
        post.open(Delivery(journal, channels, SteppedClock()), tasks)
        assert not await post(ANNA, "tea is ready")
    later = Delivery(journal, {"fake": FakeChannel()}, SteppedClock())
    assert [one.text for one in await later.left_over()] == ["tea is ready"]
    await journal.aclose()


async def test_before_the_agent_is_at_work_nothing_is_sent() -> None:
    with pytest.raises(StorageFull, match="running yet"):
        await ToolMessages()(ANNA, "x")


class FullDelivery(Delivery):
    """Has no room for a message."""

    async def announce(self, channel: str, recipient: str, text: str) -> None:
        return None


async def test_what_cannot_be_kept_is_told_and_never_repeated(tmp_path: Path) -> None:
    journal, post = open_agent_db(tmp_path / "agent.db"), ToolMessages()
    async with asyncio.TaskGroup() as tasks:
        post.open(FullDelivery(journal, {"fake": FakeChannel()}, SteppedClock()), tasks)
        with pytest.raises(StorageFull, match="do not repeat"):
            await post(ANNA, "x")
    await journal.aclose()
