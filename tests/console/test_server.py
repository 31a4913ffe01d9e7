"""Callers who are slow, many or gone; and the end of a console that nobody looks at."""

import asyncio
import socket
from pathlib import Path

import pytest

from agent.console import server
from agent.console.agent_client import AgentClient
from agent.console.application import ConsoleApplication
from agent.console.device import DeviceNames
from agent.console.server import listening, serve
from agent.errors import ConfigRefused
from tests.fakes.console_home import console_home


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nx: "])
async def test_a_head_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.05)
    async with console_home(tmp_path) as home:
        assert await home.say(sent) == b""


async def test_a_second_request_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.3)
    async with console_home(tmp_path) as home:
        first = f"GET /static/icon.svg HTTP/1.1\r\nhost: 127.0.0.1:{home.port}\r\n\r\n"
        answer = await home.say(f"{first}GET / HTTP/1.1\r\nx: ".encode())
        assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_body_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.console.request.BODY_TIMEOUT_S", 0.05)
    async with console_home(tmp_path) as home:
        session = await home.session()
        lines = [f"{name}: {value}" for name, value in home.headers(session).items()]
        lines += ["content-type: application/x-www-form-urlencoded", "content-length: 90"]
        lines += ["connection: close", "", "token="]
        answer = await home.say("\r\n".join(["POST /say HTTP/1.1", *lines]).encode())
        assert answer.startswith(b"HTTP/1.1 408")
        assert home.agent.heard == []


async def test_one_address_holds_so_many_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS_OF_ONE", 3)
    async with console_home(tmp_path) as home:
        held = [await asyncio.open_connection("127.0.0.1", home.port) for _ in range(3)]
        assert await home.say(b"GET / HTTP/1.1\r\n\r\n") == b""
        for _, writer in held:
            writer.close()


async def test_a_console_that_nobody_looks_at_ends_by_itself(tmp_path: Path) -> None:
    client = AgentClient(tmp_path / "nothing.sock")
    application = ConsoleApplication(client, DeviceNames(client))
    made, is_systemd = listening("127.0.0.1:0")
    assert not is_systemd
    async with asyncio.timeout(30):
        await serve(application, made, 0.05)


def test_an_address_that_is_taken_is_said_to_be() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigRefused, match="choose another"):
            listening(f"127.0.0.1:{taken.getsockname()[1]}")
