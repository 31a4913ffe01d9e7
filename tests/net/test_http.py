import asyncio
import socket
import ssl
import subprocess
import sys
import time
from contextlib import AbstractAsyncContextManager

import httpx
import pytest

from agent.errors import ConfigRefused, NetworkError
from agent.net.direct import DirectConnections
from agent.net.http import HttpClient, HttpRequest
from agent.net.http_call import HttpCalls
from agent.net.tls import tls_context
from tests.fakes.drip import drip, paced
from tests.fakes.raw_server import Serve, serving

OK = b"HTTP/1.1 200 OK\r\n"


def raw_server(serve: Serve) -> AbstractAsyncContextManager[str]:
    """A server of bytes: `serve` is run for every connection, after a request's headers."""

    async def after_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await serve(reader, writer)

    return serving(after_headers)


def sends(*pieces: bytes, hangs: bool = False) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if hangs:
            await reader.read(1)

    return serve


async def fetched(url: str, first_byte_s: float = 5.0, piece_s: float = 5.0) -> bytes:
    http = HttpClient()
    body = b""
    try:
        async with http.exchange(HttpRequest("GET", url), first_byte_s) as answer:
            while piece := await answer.read(piece_s):
                body += piece
    finally:
        await http.aclose()
    return body


def raising(error: Exception) -> HttpClient:
    def handle(_: httpx.Request) -> httpx.Response:
        raise error

    return HttpClient(httpx.MockTransport(handle))


async def complaint(http: HttpClient, url: str = "http://127.0.0.1/") -> str:
    with pytest.raises(NetworkError) as caught:
        async with http.exchange(HttpRequest("GET", url)):
            pass
    return str(caught.value)


async def test_body_arrives_whole_however_it_was_cut() -> None:
    parts = [OK + b"Content-Length: 6\r\n\r\n", b"on", b"e two"[:4]]
    async with raw_server(sends(*parts)) as url:
        assert await fetched(url) == b"one tw"


async def test_connections_are_made_once_and_shared() -> None:
    http = HttpClient()
    request = HttpRequest("GET", "http://127.0.0.1/")
    first, second = await asyncio.gather(http._way_of(request), http._way_of(request))
    assert first is second
    await http.aclose()


async def test_closing_an_unused_client_does_nothing() -> None:
    await HttpClient().aclose()


async def test_certificates_are_checked_as_everywhere() -> None:
    http = HttpClient()
    straight = await http._way_of(HttpRequest("GET", "https://127.0.0.1/"))
    pinned = await http._way_of(HttpRequest("GET", "https://h/", address="127.0.0.1"))
    assert isinstance(straight, DirectConnections)
    assert isinstance(pinned, HttpCalls)
    assert straight._context is tls_context()
    client = await pinned._made(is_pinned=True)
    assert client._transport._pool._ssl_context is tls_context()
    await http.aclose()


async def test_redirects_are_handed_back_not_followed() -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    http = HttpClient()
    async with (
        raw_server(sends(answer)) as url,
        http.exchange(HttpRequest("GET", url)) as found,
    ):
        assert found.status == 302
        assert found.header("Location") == "http://127.0.0.1:1/"
        assert found.header("absent") == ""
    await http.aclose()


async def test_no_cookie_is_kept_for_the_next_request() -> None:
    """The client is shared: what one person fetched says nothing about who fetches next."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(OK + b"Set-Cookie: who=mei; Path=/\r\nContent-Length: 2\r\n\r\nhi")

    async with serving(serve) as url:
        http = HttpClient()
        for _ in range(2):
            async with http.exchange(HttpRequest("GET", url)) as answer:
                assert answer.header("set-cookie") == "who=mei; Path=/"
                while await answer.read():
                    pass
        await http.aclose()
    assert len(heads) == 2
    assert not any(b"cookie" in head.lower() for head in heads)


async def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    async def proxy(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append("proxy")
        writer.write(OK + b"Content-Length: 5\r\n\r\nproxy")
        await writer.drain()

    async with (
        raw_server(proxy) as proxy_url,
        raw_server(sends(OK + b"Content-Length: 6\r\n\r\ndirect")) as url,
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy_url)
        assert await fetched("http://example.invalid/") == b"proxy"
        assert await fetched(url) == b"direct"
    assert asked == ["proxy"]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "ftp://u:secret@h", "http://[::"])
async def test_an_unusable_proxy_is_a_sentence_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(ConfigRefused, match="HTTPS_PROXY") as caught:
        await fetched("https://example.invalid/")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "hint"),
    [(407, "user and its password"), (401, "user and its password"), (502, "502"), (503, "503")],
)
async def test_a_proxy_that_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, status: int, hint: str
) -> None:
    refusal = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()
    async with raw_server(sends(refusal)) as url:
        monkeypatch.setenv("HTTPS_PROXY", url.replace("//", "//mei:secret@"))
        with pytest.raises(NetworkError, match=f"the proxy in HTTPS_PROXY .*{hint}") as caught:
            await fetched("https://example.invalid/")
    assert "example.invalid" in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_nobody_listening_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(NetworkError, match="could not be reached: is it running"):
            await fetched(url)


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with raw_server(sends(hangs=True)) as url:
        with pytest.raises(NetworkError, match="did not answer within 0 s"):
            await fetched(url, first_byte_s=0.1)


async def test_headers_that_drip_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.net.http.CONNECT_TIMEOUT_S", 0.1)

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await drip(writer, b"a: b\r\n", 0.02)

    async with raw_server(answer) as url:
        with pytest.raises(NetworkError, match="did not answer"):
            await fetched(url, first_byte_s=0.2)


async def test_a_long_request_that_moves_may_take_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.net.http.CONNECT_TIMEOUT_S", 0.4)
    http = HttpClient()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(20_000)
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    async with raw_server(answer) as url:
        request = HttpRequest(
            "PUT", url, {"content-length": "20000"}, paced([b"x" * 1000] * 20, 0.1)
        )
        async with http.exchange(request, 0.2) as answered:
            assert await answered.read() == b"ok"
    await http.aclose()


async def test_silence_in_the_middle_of_a_body_is_given_up() -> None:
    begun = OK + b"Content-Length: 9\r\n\r\nbegun"
    async with raw_server(sends(begun, hangs=True)) as url:
        with pytest.raises(NetworkError, match="sent nothing for 0 s"):
            await fetched(url, piece_s=0.1)


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_what_is_not_http_or_ends_early_is_a_sentence(sent: bytes) -> None:
    async with raw_server(sends(sent)) as url:
        with pytest.raises(NetworkError, match="broke off the connection"):
            await fetched(url)


async def test_compressed_answers_are_not_unpacked() -> None:
    answer = OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
    async with raw_server(sends(answer)) as url:
        with pytest.raises(NetworkError, match="compressed"):
            await fetched(url)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError("[Errno -3] Temporary failure in name resolution"), "was not found"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "was not found"),
        (httpx.ConnectError("[Errno 101] Network is unreachable"), "could not be reached"),
        (httpx.ConnectTimeout("slow"), "could not be reached within 5 s"),
        (httpx.PoolTimeout("busy"), "could not be reached within 5 s"),
        (httpx.WriteTimeout("slow"), "did not answer within 30 s"),
        (httpx.ReadError("reset"), "broke off the connection"),
        (ssl.SSLError(1, "BAD_RECORD_MAC"), "could not be used (SSLError)"),
        (httpx.LocalProtocolError("Illegal header value"), "could not be used"),
        (httpx.InvalidURL("nonsense"), "could not be used"),
    ],
)
async def test_every_failure_of_the_client_is_a_sentence(error: Exception, said: str) -> None:
    assert said in await complaint(raising(error))


async def test_distrust_names_the_clock_when_it_was_never_set_or_is_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    early = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid")
    assert "the clock of this device is not set" in await complaint(raising(early))
    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] expired")
    assert "sign-in page" in await complaint(raising(error))
    monkeypatch.setattr(time, "time", lambda: 3600.0)
    assert "the clock of this device is not set" in await complaint(raising(error))


async def test_a_failure_names_the_host_without_password_and_query() -> None:
    url = "http://user:hunter2@127.0.0.1:8/path?key=hunter2"
    said = await complaint(raising(httpx.ReadError("x")), url)
    assert said.startswith("127.0.0.1:8 ")


async def test_leaving_the_block_closes_the_connection_at_once() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: 99\r\n\r\nbegun")
        await writer.drain()
        await reader.read(1)
        gone.set()

    http = HttpClient()
    async with raw_server(serve) as url:
        async with http.exchange(HttpRequest("GET", url)) as answer:
            assert await answer.read() == b"begun"
        async with asyncio.timeout(2):
            await gone.wait()
    await http.aclose()


async def test_a_finished_answer_leaves_the_connection_for_the_next() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            writer.write(OK + b"Content-Length: 2\r\n\r\nok")
            await writer.drain()
            await reader.readuntil(b"\r\n\r\n")

    http = HttpClient()
    async with raw_server(serve) as url:
        for _ in range(3):
            async with http.exchange(HttpRequest("GET", url)) as answer:
                while await answer.read():
                    pass
        await http.aclose()
    assert connections == 1


def test_importing_the_client_does_not_import_httpx() -> None:
    script = (
        "import sys, agent.net.http, agent.providers.create\n"
        "print([name for name in ('httpx', 'httpcore', 'anyio', 'certifi') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"
