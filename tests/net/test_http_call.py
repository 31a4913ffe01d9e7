"""Whoever asks may be cut off at any point: what the client has is there for those that follow."""

import asyncio
import contextlib
import gc
import random
from pathlib import Path

import httpx
import pytest

from agent.errors import NetworkError
from agent.net.http import MAX_CONNECTIONS, HttpClient, HttpRequest
from tests.fakes.certificates import trusted
from tests.fakes.raw_server import serving
from tests.waits import wait_until

CALLS = 400
# A fresh call on loopback takes milliseconds
AT_ONCE_S = 5.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"


class Slow:
    """Takes its time for each part of an answer, except for what is fresh."""

    def __init__(self) -> None:
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while asked := await reader.readuntil(b"\r\n\r\n"):
                for piece in (HEAD, b"here"):
                    if not asked.startswith(b"GET /fresh"):
                        await asyncio.sleep(0.003)
                    writer.write(piece)
        finally:
            self.connections -= 1


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /fresh"):
        writer.write(HEAD + b"here")
    else:
        await reader.read(1)


async def body(
    http: HttpClient, url: str, address: str = "", *, is_held_open: bool = False
) -> bytes:
    found = b""
    request = HttpRequest("GET", url, address=address, is_held_open=is_held_open)
    async with http.exchange(request) as answer:
        while piece := await answer.read():
            found += piece
    return found


async def cut_off(http: HttpClient, url: str, address: str, dice: random.Random) -> None:
    task = asyncio.create_task(body(http, url, address))
    if dice.random() < 0.5:
        # Every pass of the loop is a point at which a call may be
        for _ in range(dice.randrange(40)):
            await asyncio.sleep(0)
    else:
        await asyncio.sleep(dice.random() * 0.012)
    for _ in range(dice.randrange(1, 4)):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({task})


def idle_connections(http: HttpClient, address: str) -> int | None:
    """Return the number of connections that are kept; None while one is anybody's."""
    if http._by_httpx is None:
        assert http._direct is not None
        return None if http._direct._busy else len(http._direct._idle)
    pool = http._by_httpx._clients[bool(address)]._transport._pool
    return len(pool.connections) if all(one.is_idle() for one in pool.connections) else None


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
@pytest.mark.parametrize(
    ("address", "scheme"), [("", "http"), ("127.0.0.1", "http"), ("", "https")]
)
async def test_calls_that_are_cut_off_take_nothing_from_those_that_follow(
    address: str, scheme: str, proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a proxy all goes by httpx, also what does not pass it
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    http, dice, slow = HttpClient(), random.Random(7), Slow()
    own = trusted(tmp_path, "IP:127.0.0.1") if scheme == "https" else contextlib.nullcontext()
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(slow.serve, context=stack.enter_context(own)))
        await body(http, f"{url}/fresh", address)
        width = 2 * MAX_CONNECTIONS
        for _ in range(CALLS // width):
            await asyncio.gather(*(cut_off(http, url, address, dice) for _ in range(width)))
        async with asyncio.timeout(AT_ONCE_S):
            fresh = [body(http, f"{url}/fresh", address) for _ in range(MAX_CONNECTIONS)]
            assert await asyncio.gather(*fresh) == [b"here"] * MAX_CONNECTIONS
        # A connection that is nobody's would stay for ever
        await wait_until(lambda: slow.connections == idle_connections(http, address))
        await http.aclose()
        await wait_until(lambda: slow.connections == 0)
    # What was left without an end complains here, and not in another test
    gc.collect()


async def test_nobody_waits_for_the_others_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.net.http.PLACE_TIMEOUT_S", 0.1)
    http = HttpClient()
    async with serving(silent) as url:
        others = [asyncio.create_task(body(http, url)) for _ in range(MAX_CONNECTIONS)]
        await asyncio.sleep(0)
        with pytest.raises(NetworkError, match="not contacted: too many requests are running"):
            await body(http, f"{url}/fresh")
        others.pop().cancel()
        assert await body(http, f"{url}/fresh") == b"here"
        await http.aclose()
        for told in await asyncio.gather(*others, return_exceptions=True):
            assert "the agent is ending" in str(told)


async def test_what_is_held_open_and_what_is_asked_now_starve_each_other_never() -> None:
    http = HttpClient()
    async with serving(silent) as url, asyncio.TaskGroup() as others:
        for is_held_open in (True, False):
            held = [
                others.create_task(body(http, url, is_held_open=is_held_open))
                for _ in range(MAX_CONNECTIONS)
            ]
            await asyncio.sleep(0)
            async with asyncio.timeout(AT_ONCE_S):
                found = await body(http, f"{url}/fresh", is_held_open=not is_held_open)
            assert found == b"here"
            for one in held:
                one.cancel()
        await http.aclose()


async def test_a_call_that_heeds_no_cancellation_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.net.http_call.GIVE_UP_TIMEOUT_S", 0.05)
    begun, end = asyncio.Event(), asyncio.Event()

    async def deaf(_: httpx.Request) -> httpx.Response:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await end.wait()
        await end.wait()
        return httpx.Response(200)

    http = HttpClient(httpx.MockTransport(deaf))
    task = asyncio.create_task(body(http, "http://127.0.0.1/"))
    await begun.wait()
    task.cancel()
    async with asyncio.timeout(AT_ONCE_S):
        with pytest.raises(asyncio.CancelledError):
            await task
        await http.aclose()
    end.set()


async def test_what_was_sent_does_not_wait_for_the_garbage_collector() -> None:
    http = HttpClient()
    async with serving(Slow().serve) as url:
        gc.collect()
        gc.disable()
        try:
            assert await body(http, f"{url}/fresh") == b"here"
            await asyncio.sleep(0)
            # Other tests of this process may have left some of theirs
            left = [one for one in gc.get_objects() if isinstance(one, httpx.Request)]
            assert not [one for one in left if str(one.url).startswith(url)]
        finally:
            gc.enable()
            await http.aclose()
