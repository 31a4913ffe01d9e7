"""Callers who are slow, many or gone; and the end of a console that nobody looks at."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.console.frames import DeviceFrame
from agent.console import server
from agent.console.agent_client import AgentClient
from agent.console.application import ConsoleApplication
from agent.console.device import DeviceNames
from agent.console.server import Tls, listening, serve
from agent.errors import ConfigRefused
from tests.fakes.console_home import console_home
from tests.waits import wait_until


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
    monkeypatch.setattr(server, "KEEP_ALIVE_S", 0.3)
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


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "127.0.0.1:port", "8476:", "here", ""])
def test_where_nothing_can_listen_is_one_sentence(address: str) -> None:
    with pytest.raises(ConfigRefused, match="cannot listen at"):
        listening(address)


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    """A certificate of the owner's, made by openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = Tls(tmp_path / "cert.pem", tmp_path / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(words, check=True, capture_output=True)
    return made


@contextlib.asynccontextmanager
async def console_with(tls: Tls, folder: Path) -> AsyncIterator[int]:
    """The port of a console with this certificate."""
    async with console_home(folder) as home:
        made, _ = listening("127.0.0.1:0")
        application = ConsoleApplication(home.client, DeviceNames(home.client))
        serving = asyncio.ensure_future(serve(application, made, None, tls))
        try:
            yield made.getsockname()[1]
        finally:
            serving.cancel()
            await asyncio.wait([serving])


async def test_with_a_certificate_it_speaks_tls_alone(tmp_path: Path, tls: Tls) -> None:
    tls.check()
    trusts = ssl.create_default_context(cafile=str(tls.certificate))
    async with console_with(tls, tmp_path) as port:
        answer = await _first_answer(port, trusts)
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"barnacle_door=" in answer
        # A browser sends the cookie to nobody who speaks no TLS
        assert b"; Secure" in answer
        assert b"HTTP/" not in await _first_answer(port, None)


async def test_a_caller_who_never_begins_with_tls_is_not_waited_for(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TLS_TIMEOUT_S", 0.1, raising=False)
    async with console_with(tls, tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(4):
            assert await reader.read() == b""
        writer.close()


async def test_silent_callers_are_counted_before_tls(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS_OF_ONE", 3)
    async with console_with(tls, tmp_path) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        reader, one_more = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        for _, writer in (*held, (reader, one_more)):
            writer.close()
        trusts = ssl.create_default_context(cafile=str(tls.certificate))
        await wait_until(lambda: not server._held.total())
        assert (await _first_answer(port, trusts)).startswith(b"HTTP/1.1 401")


async def _first_answer(port: int, context: ssl.SSLContext | None) -> bytes:
    name = "localhost" if context else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname=name
    )
    try:
        writer.write(
            f"GET / HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n".encode()
        )
        return await reader.read(4000)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_a_key_that_is_none_is_refused_before_anything_listens(tls: Tls) -> None:
    tls.key.write_text("no key")
    with pytest.raises(ConfigRefused, match="certificate and key in"):
        tls.check()


async def test_a_console_that_began_without_the_certificate_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would go on in the clear, as its agent was away when it began."""
    monkeypatch.setattr(server, "_LOOK_S", 0.05)
    names = DeviceNames(AgentClient(tmp_path / "nobody.sock"), DeviceFrame(3, certificate="c"))
    made, _ = listening("127.0.0.1:0")
    application = ConsoleApplication(AgentClient(tmp_path / "nobody.sock"), names)
    async with asyncio.timeout(20):
        await serve(application, made, 600.0)
