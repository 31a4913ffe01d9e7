"""A channel that is ended while it hands a message over: deaf, or done with what it watched."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.messaging.dispatcher import NOTHING_TO_STOP_TEXT
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider
from tests.waits import stays

# Longer than the journal's thread takes to begin with what it is given
BEGUN_S = 0.1


@pytest.mark.parametrize(("text", "answer"), [("hi", "echo: hi"), ("/stop", NOTHING_TO_STOP_TEXT)])
async def test_a_message_that_was_committed_is_answered_though_its_channel_was_cut_off(
    tmp_path: Path, text: str, answer: str
) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("one", "0")
        await channel.wait_for(1)
        with closing(sqlite3.connect(tmp_path / "agent.db")) as other:
            # A slow card: the commit takes its time
            other.execute("BEGIN IMMEDIATE")
            handing_over = asyncio.create_task(agent.say(text, "1"))
            await stays(lambda: not handing_over.done(), BEGUN_S)
            handing_over.cancel()
            await asyncio.wait([handing_over])
        # The platform gives it once more, and it is known
        await agent.say(text, "1")
        assert await channel.wait_for(2) == ["echo: one", answer]
