"""The agent's side of the console's socket: who may connect, and what is answered to whom."""

import contextlib
import os
from pathlib import Path

import pytest

from agent.app.console.reception import may_connect
from agent.channels.attached import frames as terminals
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.peers import SocketPeer
from agent.channels.attached.socket import connected
from agent.channels.console import frames
from agent.console.agent_client import NoAccess, NotForVisitor
from agent.errors import ChannelRefused, ChannelUnavailable
from tests.fakes.console_home import console_home

CONSOLE_UID = 54_331


@pytest.mark.parametrize(
    ("peer", "is_allowed"),
    [
        (SocketPeer(0, frozenset()), True),
        (SocketPeer(os.geteuid(), frozenset()), True),
        (SocketPeer(CONSOLE_UID, frozenset()), True),
        (SocketPeer(CONSOLE_UID + 1, frozenset()), False),
        # A program of a tool, whoever it runs as
        (SocketPeer(os.geteuid(), frozenset(), is_own=True), False),
    ],
)
def test_who_may_connect(peer: SocketPeer, *, is_allowed: bool) -> None:
    assert may_connect(peer, CONSOLE_UID) is is_allowed


async def test_a_session_decides_what_is_shown(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        guest = await home.session("guest")
        assert (await home.client.view(guest, "home"))["role"] == "guest"
        with pytest.raises(NotForVisitor):
            await home.client.view(guest, "board")
        with pytest.raises(NotForVisitor):
            await home.client.view(guest, "nothing")
        for session in ("", "A" * 43):
            with pytest.raises(NoAccess):
                await home.client.view(session, "home")


async def test_nobody_talks_without_a_session(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        wire = LineConnection(connected(tmp_path / "console.sock"), 10_000)
        await wire.send(frames.encoded(frames.AttachFrame("A" * 43)))
        assert frames.is_denial(await wire.receive() or b"")
        with contextlib.suppress(ChannelUnavailable):
            await wire.send(terminals.encoded(terminals.SayFrame("1", "turn it on")))
        assert await wire.receive() is None
        wire.close()
        assert home.agent.heard == []


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"type":"say","id":"1","text":"x"}\n', b"\xff\n"]
)
async def test_what_is_no_question_ends_the_connection(tmp_path: Path, line: bytes) -> None:
    async with console_home(tmp_path):
        wire = LineConnection(connected(tmp_path / "console.sock"), 10_000)
        await wire.send(line)
        assert await wire.receive() is None
        wire.close()


@pytest.mark.parametrize(
    "frame",
    [
        frames.AboutFrame(1),
        frames.KnockFrame("d", "w"),
        frames.ClaimFrame("d"),
        frames.EnterFrame("c", "w"),
        frames.EndFrame("s"),
        frames.QueryFrame("s", "home", {"a": "b"}),
        frames.AttachFrame("s"),
    ],
)
def test_a_frame_comes_back_as_it_was(frame: frames.FromConsole) -> None:
    assert frames.from_console(frames.encoded(frame).rstrip()) == frame


def test_a_frame_has_limits() -> None:
    with pytest.raises(ChannelRefused):
        frames.from_console(frames.encoded(frames.QueryFrame("s" * 65, "home")))
