from pathlib import Path

import pytest
from msgspec import structs

from agent.messaging import inbox
from agent.messaging.dispatcher import COMMAND_FAILED_TEXT
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider


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
