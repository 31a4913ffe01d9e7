import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.attached import client
from agent.channels.attached.channel import AgentSide, AttachedTerminals
from agent.channels.attached.client import look
from agent.channels.attached.frames import VERSION, ByeFrame, WelcomeFrame, encoded
from agent.channels.attached.socket import listening
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.messages import Inbound
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until


async def nobody_writes(_: Inbound) -> None:
    raise AssertionError


async def not_settled(_: str) -> bool:
    raise AssertionError


async def nothing_waits(target: str) -> None:
    raise AssertionError(target)


async def test_the_agent_says_how_it_is_and_nobody_is_attached(tmp_path: Path) -> None:
    terminals = AttachedTerminals(tmp_path / "chat.sock", tmp_path, SteppedClock())
    terminals.open(
        AgentSide(lambda: "fine", print, nothing_waits, not_settled, lambda: {"telegram": 7.5})
    )
    serving = asyncio.ensure_future(terminals.listen(nobody_writes))
    await wait_until((tmp_path / "chat.sock").exists)
    try:
        assert await look(tmp_path / "chat.sock") == WelcomeFrame(
            VERSION, "fine", {"telegram": 7.5}
        )
        assert not terminals.is_anybody_there("local")
    finally:
        serving.cancel()
        await asyncio.wait([serving])


async def test_where_nobody_listens_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ChannelUnavailable):
        await look(tmp_path / "chat.sock")


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[socket.socket]:
    """Takes connections and is never looked at."""
    with listening(tmp_path / "chat.sock", tmp_path) as made:
        yield made


@pytest.mark.usefixtures("silent")
async def test_an_agent_that_hangs_does_not_hang_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK_TIMEOUT_S", 0.05)
    with pytest.raises(TimeoutError):
        await look(tmp_path / "chat.sock")


async def answered(silent: socket.socket, path: Path, line: bytes) -> WelcomeFrame:
    loop = asyncio.get_running_loop()
    asked = asyncio.ensure_future(look(path))
    connection, _ = await loop.sock_accept(silent)
    with connection:
        connection.settimeout(0)
        await loop.sock_recv(connection, 4096)
        await loop.sock_sendall(connection, line)
    return await asked


async def test_who_is_turned_away_hears_why(tmp_path: Path, silent: socket.socket) -> None:
    with pytest.raises(ChannelRefused, match="full"):
        await answered(silent, tmp_path / "chat.sock", encoded(ByeFrame("full", is_final=True)))


async def test_an_agent_that_ends_is_away(tmp_path: Path, silent: socket.socket) -> None:
    with pytest.raises(ChannelUnavailable):
        await answered(silent, tmp_path / "chat.sock", b"")


async def test_an_older_agent_tells_no_ages(tmp_path: Path, silent: socket.socket) -> None:
    line = b'{"type":"welcome","version":1,"text":"hi"}\n'
    assert (await answered(silent, tmp_path / "chat.sock", line)).heard_s == {}
