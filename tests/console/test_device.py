"""Names by which a console may be called, of an agent that is started again with others."""

import pytest

from agent.channels.console.frames import VERSION, DeviceFrame
from agent.console import device
from agent.console.agent_client import AgentClient
from agent.console.device import DeviceNames
from agent.errors import ChannelUnavailable


class StartedAgain(AgentClient):
    """An agent that may be away, and comes back with other settings."""

    def __init__(self) -> None:
        self.device: DeviceFrame | None = None
        self.asked = 0

    async def about(self) -> DeviceFrame:
        self.asked += 1
        if self.device is None:
            raise ChannelUnavailable("the agent is away")
        return self.device


def called(*hosts: str) -> DeviceFrame:
    return DeviceFrame(VERSION, "Barnacle", hosts=hosts)


async def test_the_names_of_an_agent_that_was_started_again_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "FRESH_S", 0.0)
    agent = StartedAgain()
    names = DeviceNames(agent, called("old.example"))
    assert "old.example" in await names.hosts()
    agent.device = called("New.example")
    hosts = await names.hosts()
    assert "new.example" in hosts
    assert "old.example" not in hosts


async def test_an_agent_that_is_away_keeps_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "FRESH_S", 0.0)
    agent = StartedAgain()
    names = DeviceNames(agent, called("old.example"))
    assert "old.example" in await names.hosts()
    assert agent.asked == 1


async def test_the_agent_is_not_asked_for_each_request() -> None:
    agent = StartedAgain()
    agent.device = called("old.example")
    names = DeviceNames(agent)
    for _ in range(5):
        assert "old.example" in await names.hosts()
    assert agent.asked == 1
