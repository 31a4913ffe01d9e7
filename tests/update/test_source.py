"""Where an update comes from: files, and servers that break off, redirect or lead elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent.errors import AddressRefused, BarnacleError, NetworkError, UpdateRefused
from agent.net.http import HttpClient
from agent.update.source import (
    MAX_FAILURES,
    RETRY_WAIT_S,
    Download,
    from_file,
    is_url,
)
from tests.fakes.clock import SteppedClock
from tests.fakes.http_wire import Request, read_request, write
from tests.fakes.raw_server import serving

CONTENT = bytes(range(256)) * 1000
Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


async def fetched(
    http: HttpClient, answer: Answer, *, clock: SteppedClock | None = None
) -> tuple[bytes, list[Request]]:
    """What came, and what was asked for."""
    asked: list[Request] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            asked.append(request)
            await answer(request, writer)

    async with serving(serve) as url:
        download = Download(http, f"{url}/new.update", clock or SteppedClock())
        content = b"".join([piece async for piece in download.pieces()])
    return content, asked


def ranged(request: Request) -> int:
    return int(request.headers.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))


async def test_a_file_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "new.update"
    path.write_bytes(CONTENT)
    assert b"".join([piece async for piece in from_file(path)]) == CONTENT


def test_what_is_a_url_and_what_a_file() -> None:
    assert is_url("HTTPS://example.org/x")
    assert not is_url("./https")
    assert not is_url("ftp://example.org/x")


async def test_a_machine_at_home_may_be_named(http: HttpClient) -> None:
    content, _ = await fetched(http, lambda _, writer: write(writer, 200, CONTENT))
    assert content == CONTENT


async def cut_off(writer: asyncio.StreamWriter, head: str, content: bytes) -> None:
    writer.write(f"{head}\r\n\r\n".encode() + content)
    await writer.drain()
    raise ConnectionError


@pytest.mark.parametrize("knows_ranges", [True, False])
async def test_a_connection_that_breaks_is_made_again_for_the_rest(
    http: HttpClient, *, knows_ranges: bool
) -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        at = ranged(request) if knows_ranges else 0
        status = "206 -" if at else "200 -"
        head = f"HTTP/1.1 {status}\r\ncontent-length: {len(CONTENT) - at}"
        if at:
            head += f"\r\ncontent-range: bytes {at}-{len(CONTENT) - 1}/{len(CONTENT)}"
        await cut_off(writer, head, CONTENT[at : max(at, ranged(request)) + 100_000])

    clock = SteppedClock()
    content, asked = await fetched(http, answer, clock=clock)
    assert content == CONTENT
    assert len(asked) == 3
    assert clock.slept_s == [RETRY_WAIT_S] * 2


async def test_a_server_that_goes_on_elsewhere_in_the_file_is_not_believed(
    http: HttpClient,
) -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if not ranged(request):
            await cut_off(writer, "HTTP/1.1 200 -\r\ncontent-length: 9000", b"x" * 10)
        await write(writer, 206, b"y" * 10)

    with pytest.raises(UpdateRefused, match="answered with status 206"):
        await fetched(http, answer)


async def test_a_server_that_gives_nothing_is_given_up(http: HttpClient) -> None:
    clock = SteppedClock()
    with pytest.raises(NetworkError, match="answered with status 503"):
        await fetched(http, lambda _, writer: write(writer, 503), clock=clock)
    assert clock.slept_s == [RETRY_WAIT_S] * MAX_FAILURES


async def test_what_is_not_there_is_said_at_once(http: HttpClient) -> None:
    clock = SteppedClock()
    with pytest.raises(UpdateRefused, match="answered with status 404: is the address correct"):
        await fetched(http, lambda _, writer: write(writer, 404), clock=clock)
    assert clock.slept_s == []


def redirect(place: str) -> Answer:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/stored":
            await write(writer, 200, CONTENT)
            return
        writer.write(f"HTTP/1.1 302 -\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()

    return answer


async def test_a_redirect_to_the_same_machine_is_followed(http: HttpClient) -> None:
    content, asked = await fetched(http, redirect("/stored"))
    assert content == CONTENT
    assert [request.target for request in asked] == ["/new.update", "/stored"]


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("http://127.0.0.1:1/x", AddressRefused),
        ("http://169.254.169.254/latest", AddressRefused),
        ("file:///etc/shadow", AddressRefused),
        ("/again", UpdateRefused),
    ],
)
async def test_a_redirect_to_somewhere_else_at_home_is_not(
    http: HttpClient, place: str, kind: type[BarnacleError]
) -> None:
    with pytest.raises(kind):
        await fetched(http, redirect(place))


@pytest.mark.parametrize("url", ["http://[::1/x", "https://me:secret@example.org/x"])
async def test_a_url_that_cannot_be_is_refused(http: HttpClient, url: str) -> None:
    with pytest.raises(AddressRefused):
        async for _ in Download(http, url, SteppedClock()).pieces():
            pass
