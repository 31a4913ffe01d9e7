"""The console's connections to the agent, where whoever asked has gone."""

import asyncio
import socket
import threading
from pathlib import Path

import pytest

from agent.console import agent_client
from agent.console.agent_client import AgentClient
from tests.waits import wait_until


async def test_a_connection_for_somebody_who_has_gone_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    begun, goes_on = threading.Event(), threading.Event()

    def connected(_path: Path) -> socket.socket:
        begun.set()
        goes_on.wait()
        return ours

    monkeypatch.setattr(agent_client, "connected", connected)
    asking = asyncio.ensure_future(AgentClient(Path("nowhere")).connect())
    await wait_until(begun.is_set)
    asking.cancel()
    await asyncio.wait([asking])
    goes_on.set()
    theirs.settimeout(0)
    # Nothing comes of a connection that is closed: not even that nothing is there yet
    assert await asyncio.get_running_loop().sock_recv(theirs, 1) == b""
    assert ours.fileno() == -1
    theirs.close()
