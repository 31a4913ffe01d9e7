import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from agent.channels import websocket
from agent.channels.websocket import HandshakeRefused, SocketClosed, opened
from agent.errors import ChannelUnavailable
from tests.fakes.certificates import trusted
from tests.waits import PATIENCE_S

Serve = Callable[[ServerConnection], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(handler: Serve, **more: object) -> AsyncIterator[str]:
    async with serve(handler, "127.0.0.1", 0, **more) as server:  # type: ignore[arg-type]  # of the tests
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"{'wss' if 'ssl' in more else 'ws'}://127.0.0.1:{port}/gateway"


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def ended(connection: ServerConnection) -> None:
    await connection.close(4004, "Authentication\n failed")


async def cut(connection: ServerConnection) -> None:
    connection.transport.abort()


async def hold(connection: ServerConnection) -> None:
    await connection.wait_closed()


async def test_text_and_bytes_go_and_come() -> None:
    async with serving(echo) as url, opened(url) as connection:
        for message in ("hello 👋", b"\x00\x01"):
            await connection.send(message)
            assert await connection.receive() == message


async def test_an_end_has_its_code_and_cleaned_reason() -> None:
    async with serving(ended) as url, opened(url) as connection:
        with pytest.raises(SocketClosed) as caught:
            await connection.receive()
    assert (caught.value.code, caught.value.reason) == (4004, "Authentication  failed")


async def test_a_cut_is_an_end_without_a_word() -> None:
    async with serving(cut) as url, opened(url) as connection:
        with pytest.raises(SocketClosed) as caught:
            await connection.receive()
        assert caught.value.code == 1006
        with pytest.raises(SocketClosed):
            await connection.send("too late")


async def test_a_server_that_refuses_says_why_in_its_headers() -> None:
    def refuse(connection: ServerConnection, _request: Request) -> Response:
        answer = connection.respond(403, "no")
        answer.headers["Handshake-Msg"] = "wrong app"
        return answer

    async with serving(echo, process_request=refuse) as url:
        with pytest.raises(HandshakeRefused) as caught:
            async with opened(url):
                pass
    assert (caught.value.status, caught.value.headers["handshake-msg"]) == (403, "wrong app")


async def test_headers_are_sent() -> None:
    seen: list[str] = []

    async def look(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.extend(connection.request.headers.get_all("Authorization"))

    async with serving(look) as url, opened(url, {"Authorization": "Bearer x"}) as connection:
        with contextlib.suppress(SocketClosed):
            await connection.receive()
    assert seen == ["Bearer x"]


@pytest.mark.parametrize("url", ["ws://127.0.0.1:1/", "http://127.0.0.1:1/", "ws://"])
async def test_nobody_there_is_no_refusal(url: str) -> None:
    with pytest.raises(ChannelUnavailable, match="cannot connect to"):
        async with opened(url):
            pass


async def test_a_message_that_is_too_large_ends_it() -> None:
    async with serving(echo) as url, opened(url, max_bytes=100) as connection:
        await connection.send("x" * 101)
        with pytest.raises(SocketClosed):
            await connection.receive()


async def test_silence_is_broken_and_life_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_EVERY_S", 0.05)
    beats = asyncio.Semaphore(0)
    async with serving(hold) as url, opened(url) as connection:
        listening = asyncio.ensure_future(anext(connection.messages(beats.release)))
        async with asyncio.timeout(PATIENCE_S):
            await beats.acquire()
            await beats.acquire()
        assert not listening.done()
        listening.cancel()
        await asyncio.wait([listening])


async def test_a_server_that_answers_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_EVERY_S", 0.1)
    beats: list[int] = []
    is_over = asyncio.Event()

    async def deaf(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await is_over.wait()
        connection.transport.abort()

    async with serving(deaf) as url:
        async with opened(url) as connection:
            with pytest.raises(ChannelUnavailable, match="no longer answers"):
                await anext(connection.messages(lambda: beats.append(1)))
        is_over.set()
    assert not beats


async def test_a_certificate_that_nobody_vouches_for_is_not_taken(tmp_path: Path) -> None:
    with trusted(tmp_path, "IP:127.0.0.1") as context:
        async with serving(echo, ssl=context) as url, opened(url) as connection:
            await connection.send("hello")
            assert await connection.receive() == "hello"
    async with serving(echo, ssl=context) as url:
        with pytest.raises(ChannelUnavailable, match=r"(?i)certificate"):
            async with opened(url):
                pass
