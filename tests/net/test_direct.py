"""Requests straight to a server: what httpx did with them, and what it did not."""

import asyncio
import contextlib
import random
import socket
import string
import struct
import threading
from collections.abc import Coroutine
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import NetworkError
from agent.net import direct
from agent.net.connecting import HostLookups
from agent.net.direct import PIECE_BYTES, target_of
from agent.net.http import MAX_CONNECTIONS, HttpClient, HttpRequest
from tests.fakes.certificates import trusted
from tests.fakes.drip import paced
from tests.fakes.raw_server import serving
from tests.net.test_http_call import Slow, body, cut_off, idle_connections
from tests.waits import wait_until

OK = b"HTTP/1.1 200 OK\r\n"
_SIGNS = string.ascii_letters + string.digits + "/.-_~!$&'()*+,;=:@%?#[]\\^ \u00e9"
_URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP", "ftp"]),
    st.sampled_from(["a.example", "127.0.0.1", "[::1]", "A.example", "u:p@h", "h\u00e9", "-h", ""]),
    st.sampled_from(["", ":80", ":443", ":8080", ":0", ":65536", ":"]),
    st.text(_SIGNS, max_size=30).map(lambda text: f"/{text}"),
)


@given(_URLS)
@example("http://a.example")
@example("http://a.example?x=1")
@example("http://a.example/bot1:2/getMe?a=b&c=%20")
@example("http://a.example/a/../b")
@example("http://a.example/a'?b'")
def test_a_url_is_taken_apart_as_httpx_does_or_left_to_it(url: str) -> None:
    found = target_of(url)
    if found is None:
        return
    known = httpx.Request("GET", url)
    assert found.path == known.url.raw_path.decode()
    assert found.netloc == known.headers["host"]
    assert found.host == known.url.host
    assert found.is_secure == (known.url.scheme == "https")
    assert found.port == (known.url.port or {"http": 80, "https": 443}[known.url.scheme])
    assert not known.url.userinfo


def test_the_addresses_of_services_are_plain() -> None:
    """Else each request would load httpx."""
    for url in (
        "https://api.telegram.org/bot123456:AAEhBP0av28_x-y/getUpdates",
        "https://openrouter.ai/api/v1/chat/completions",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5:streamGenerateContent?alt=sse",
        "http://192.168.1.2:11434/api/chat",
        "http://[fd00::1]:8080/v1/chat/completions",
    ):
        assert target_of(url) is not None


async def test_one_connection_asks_for_one_thing_after_the_other() -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            asked.append(head)
            writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    http = HttpClient()
    async with serving(serve) as url:
        for path in ("/one", "/two?x=1"):
            assert await body(http, url + path) == b"ok"
        await http.aclose()
    assert [head.split(b"\r\n")[0] for head in asked] == [
        b"GET /one HTTP/1.1",
        b"GET /two?x=1 HTTP/1.1",
    ]


async def test_a_request_looks_as_one_of_httpx() -> None:
    heads: list[list[bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(sorted(head.lower().split(b"\r\n")))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    request = HttpRequest("POST", "", {"Authorization": "x", "User-Agent": "y"}, b"{}")
    async with serving(serve) as url:
        for address in ("", "127.0.0.1"):
            http = HttpClient()
            sent = HttpRequest("POST", f"{url}/a", request.headers, request.content, address)
            async with http.exchange(sent) as answer:
                assert await answer.read() == b""
            await http.aclose()
    assert heads[0] == heads[1]


async def test_a_long_body_comes_in_pieces_and_a_slow_reader_stops_the_server() -> None:
    sent = 64 * PIECE_BYTES
    is_written = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal is_written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % sent)
        for _ in range(sent // PIECE_BYTES):
            writer.write(b"x" * PIECE_BYTES)
            await writer.drain()
        is_written = True

    http = HttpClient()
    async with serving(serve) as url, http.exchange(HttpRequest("GET", url)) as answer:
        pieces = [len(await answer.read())]
        assert not is_written
        while piece := await answer.read():
            pieces.append(len(piece))
        assert sum(pieces) == sent
        assert max(pieces) <= PIECE_BYTES
    await http.aclose()


async def test_a_long_request_arrives_whole() -> None:
    sent = b"0123456789" * 300_000
    came: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.append(await reader.readexactly(len(sent)))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok")

    http = HttpClient()
    async with (
        serving(serve) as url,
        http.exchange(HttpRequest("PUT", url, content=sent)) as answer,
    ):
        assert await answer.read() == b"ok"
    await http.aclose()
    assert came == [sent]


async def test_a_long_request_that_moves_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.net.http.WRITE_TIMEOUT_S", 0.3)
    monkeypatch.setattr("agent.net.http.CONNECT_TIMEOUT_S", 0.1)
    # More than the kernel takes at once, which is counted as time for the answer
    sent = b"0123456789" * 1_600_000

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        async for size in paced([800_000] * 20, 0.15):
            await reader.readexactly(size)
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    http = HttpClient()
    async with (
        serving(serve) as url,
        http.exchange(HttpRequest("PUT", url, content=sent), 2.0) as answer,
    ):
        assert await answer.read() == b"ok"
    await http.aclose()


async def test_a_connection_that_its_server_has_closed_is_not_used_again() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        await writer.drain()

    http = HttpClient()
    async with serving(serve) as url:
        for number in range(3):
            assert await body(http, url) == b"ok"
            assert http._direct is not None
            ways = http._direct
            await wait_until(lambda: all(one._is_ended for one in ways._idle))  # noqa: B023 - called at once
            assert connections == number + 1
    await http.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 2\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ],
)
async def test_what_comes_behind_an_answer_is_no_answer_to_the_next_request(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b"/one" in head:
                writer.write(answer + OK + b"Content-Length: 4\r\n\r\nlate")
            else:
                writer.write(OK + b"Content-Length: 3\r\n\r\ntwo")

    http = HttpClient()
    async with serving(serve) as url:
        assert await body(http, f"{url}/one") in {b"ok", b""}
        assert await body(http, f"{url}/two") == b"two"
        await http.aclose()


async def test_an_end_that_the_loop_has_not_seen_yet_is_heeded() -> None:
    is_over = threading.Event()

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(TimeoutError):
            for _ in range(2):
                accepted, _ = listener.accept()
                with accepted:
                    accepted.recv(65536)
                    accepted.sendall(OK + b"Content-Length: 2\r\n\r\nok")
                is_over.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        serving_thread = threading.Thread(target=serve, args=[listener])
        serving_thread.start()
        http, url = HttpClient(), f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert await body(http, url) == b"ok"
        # The loop stands still meanwhile
        assert is_over.wait(5)
        assert await body(http, url) == b"ok"
        await http.aclose()
        serving_thread.join()


@pytest.mark.parametrize("is_reset", [False, True])
async def test_an_answer_without_a_length_is_whole_where_its_server_ends_it(
    *, is_reset: bool
) -> None:
    is_heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhalf")
        await is_heard.wait()
        if is_reset:
            now = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)

    http = HttpClient()
    async with serving(serve) as url, http.exchange(HttpRequest("GET", url)) as answer:
        assert await answer.read() == b"half"
        is_heard.set()
        if is_reset:
            with pytest.raises(NetworkError, match="broke off"):
                await answer.read()
        else:
            assert await answer.read() == b""
    await http.aclose()


async def test_a_name_whose_first_address_leads_nowhere_is_reached_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    # Nobody answers at all: a listener whose places are taken
    with socket.socket(socket.AF_INET6) as deaf, socket.socket(socket.AF_INET6) as taking:
        deaf.bind(("::1", 0))
        async with serving(ok, deaf.getsockname()[1]) as url:
            deaf.listen(0)
            taking.connect(deaf.getsockname())
            port = deaf.getsockname()[1]

            def two_addresses(*_: object, **_named: object) -> list[object]:
                kind = (socket.SOCK_STREAM, 6, "")
                return [
                    (socket.AF_INET6, *kind, ("::1", port, 0, 0)),
                    (socket.AF_INET, *kind, ("127.0.0.1", port)),
                ]

            monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
            http = HttpClient()
            assert await body(http, url.replace("127.0.0.1", "localhost")) == b"ok"
            await http.aclose()


async def test_whoever_is_connecting_when_the_agent_ends_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_reaching, go_on = asyncio.Event(), asyncio.Event()
    reached = direct.reach

    async def slowly(lookups: HostLookups, host: str, port: int) -> socket.socket:
        is_reaching.set()
        await go_on.wait()
        return await reached(lookups, host, port)

    monkeypatch.setattr(direct, "reach", slowly)
    http = HttpClient()
    async with serving(Slow().serve) as url:
        asking = asyncio.create_task(body(http, f"{url}/fresh"))
        await is_reaching.wait()
        await http.aclose()
        go_on.set()
        with pytest.raises(Exception, match="the agent is ending"):
            await asking


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_in_the_loop_that_people_run_calls_that_are_cut_off_take_nothing(
    scheme: str, tmp_path: Path
) -> None:
    uvloop = pytest.importorskip("uvloop", reason="it has no wheel for this machine")
    own = trusted(tmp_path, "IP:127.0.0.1") if scheme == "https" else contextlib.nullcontext()

    async def cut_and_ask() -> None:
        http, dice, slow = HttpClient(), random.Random(11), Slow()
        async with serving(slow.serve, context=context) as url:
            assert await body(http, f"{url}/fresh") == b"here"
            for _ in range(10):
                await asyncio.gather(*(cut_off(http, url, "", dice) for _ in range(40)))
            fresh = [body(http, f"{url}/fresh") for _ in range(MAX_CONNECTIONS)]
            assert await asyncio.gather(*fresh) == [b"here"] * MAX_CONNECTIONS
            await wait_until(lambda: slow.connections == idle_connections(http, ""))
            await http.aclose()
            await wait_until(lambda: slow.connections == 0)

    with own as context:
        _in_uvloop(uvloop, cut_and_ask())


def _in_uvloop(uvloop: object, work: Coroutine[object, object, None]) -> None:
    with asyncio.Runner(loop_factory=getattr(uvloop, "new_event_loop")) as runner:  # noqa: B009 - it has no types
        runner.run(work)
