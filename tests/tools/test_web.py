import asyncio
import json
import logging

import pytest

from agent.errors import AddressRefused, BarnacleError, NetworkError
from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools import web
from agent.tools.web import MAX_BODY_BYTES, Web, WebRequest, look_up, seen
from tests.fakes.drip import drip
from tests.fakes.pages import PreparedWeb, page, redirect
from tests.fakes.raw_server import serving
from tests.fakes.resolver import FixedResolver

SENT = {"authorization": "Bearer canary-7f3a", "x-api-key": "canary-7f3a", "accept": "text/plain"}


async def test_a_redirect_is_followed_with_what_was_sent_within_one_origin() -> None:
    prepared = PreparedWeb(
        {"https://example.org/a": redirect("b"), "https://example.org/b": page()}
    )
    answer = await prepared.web.fetch(WebRequest("GET", "https://example.org/a", SENT))
    assert (answer.url, answer.text) == ("https://example.org/b", "hello")
    assert prepared.requests[1].headers["authorization"] == SENT["authorization"]


@pytest.mark.parametrize(
    "other",
    [
        "https://evil.example.com/",
        "https://example.org.evil.example.com/",
        "https://sub.example.org/",
        "https://www.www.example.org/",
        "https://example.org:8443/",
        "http://93.184.216.34/",
    ],
)
async def test_another_host_is_told_and_not_gone_to(other: str) -> None:
    prepared = PreparedWeb({"http://example.org/": redirect(other)})
    answer = await prepared.web.fetch(WebRequest("GET", "http://example.org/", SENT))
    assert (answer.status, answer.url, answer.location) == (302, "http://example.org/", other)
    assert len(prepared.requests) == 1


async def test_nothing_personal_goes_along_to_another_form_of_the_host() -> None:
    prepared = PreparedWeb(
        {
            "http://example.org/": redirect("https://www.example.org/"),
            "https://www.example.org/": redirect("https://example.org/back"),
            "https://example.org/back": page(),
        }
    )
    await prepared.web.fetch(WebRequest("GET", "http://example.org/", SENT))
    assert len(prepared.requests) == 3
    for request in prepared.requests[1:]:
        assert "canary" not in str(request.headers.raw)
        assert request.headers["accept"] == "text/plain"


async def test_a_protected_connection_is_not_left() -> None:
    prepared = PreparedWeb({"https://example.org/": redirect("http://example.org/")})
    with pytest.raises(AddressRefused, match="redirects from https to plain http"):
        await prepared.web.fetch(WebRequest("GET", "https://example.org/"))


async def test_a_loop_of_redirects_ends() -> None:
    prepared = PreparedWeb({"http://example.org/": redirect("/")})
    with pytest.raises(NetworkError, match="more than 3 times"):
        await prepared.web.fetch(WebRequest("GET", "http://example.org/"))
    assert len(prepared.requests) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_what_changes_something_is_not_sent_on(status: int) -> None:
    prepared = PreparedWeb({"http://example.org/": redirect("http://evil.example.com/", status)})
    answer = await prepared.web.fetch(WebRequest("POST", "http://example.org/", SENT, b"body"))
    assert (answer.status, answer.location) == (status, "http://evil.example.com/")
    assert len(prepared.requests) == 1


async def test_a_redirect_to_what_is_no_url_is_refused() -> None:
    prepared = PreparedWeb({"http://example.org/": redirect("http://[::1")})
    with pytest.raises(BarnacleError):
        await prepared.web.fetch(WebRequest("GET", "http://example.org/"))
    assert len(prepared.requests) == 1


async def test_of_a_long_body_only_the_beginning_is_taken() -> None:
    prepared = PreparedWeb({"http://example.org/": page(b"x" * (MAX_BODY_BYTES + 1))})
    answer = await prepared.web.fetch(WebRequest("GET", "http://example.org/"))
    assert (len(answer.body), answer.is_cut) == (MAX_BODY_BYTES, True)


async def test_nothing_that_is_sent_or_answered_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    prepared = PreparedWeb({"http://example.org/canary-7f3a": page(b"canary-7f3a")})
    url = "http://example.org/canary-7f3a?key=canary-7f3a"
    await prepared.web.fetch(WebRequest("PUT", url, SENT, b"canary-7f3a"))
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("agent")]
    assert ours == ["web: answered (method=PUT, host=example.org, status=200)"]


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", "grün\u200b\r\nrot".encode(), "grün\nrot"),
        ("text/plain; charset=iso-8859-1", b"gr\xfcn", "grün"),
        ('text/plain; charset="utf-16-le"', "grün".encode("utf-16-le"), "grün"),
        ("text/plain; charset=nonsense", b"gr\xfcn", "gr\ufffdn"),
        ("text/plain; charset=idna", b"gr\xfcn", "gr\ufffdn"),
        # To read it as what it is said to be takes hours
        ("text/plain; charset=Punycode", b"a" * MAX_BODY_BYTES, "a" * MAX_BODY_BYTES),
        ("", b"a\x00b\x1b[31m", "ab[31m"),
    ],
)
async def test_a_body_is_text_without_what_cannot_be_seen(
    kind: str, body: bytes, text: str
) -> None:
    prepared = PreparedWeb({"http://example.org/": page(body, kind)})
    assert (await prepared.web.fetch(WebRequest("GET", "http://example.org/"))).text == text


def test_hidden_letters_are_left_out() -> None:
    assert seen("a\u202eb\u2066c\ufeff\U000e0041\u00ad\ud800 d\te\n") == "abc d\te\n"


async def test_a_listed_machine_at_home_is_really_connected_to() -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhome")
        await writer.drain()

    http = HttpClient()
    async with serving(serve) as url:
        port = url.rpartition(":")[2]
        rules = WebRules(local=(f"weather.lan:{port}",))
        resolver = FixedResolver({"weather.lan": ["127.0.0.1"]})
        at_home = Web(http, rules, resolver)
        answer = await at_home.fetch(WebRequest("GET", f"http://weather.lan:{port}/now"))
        with pytest.raises(AddressRefused):
            await Web(http, WebRules(), resolver).fetch(
                WebRequest("GET", f"http://weather.lan:{port}/")
            )
    await http.aclose()
    assert (answer.status, answer.text) == (200, "home")
    assert f"host: weather.lan:{port}\r\n".encode() in heads[0].lower()


async def test_a_page_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "TOTAL_TIMEOUT_S", 0.3)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await drip(writer, b"x", 0.02)

    http = HttpClient()
    async with serving(serve) as url:
        rules = WebRules(local=(url.removeprefix("http://"),))
        with pytest.raises(NetworkError, match="took longer than"):
            await Web(http, rules).fetch(WebRequest("GET", url))
    await http.aclose()


async def test_the_systems_resolver_is_asked() -> None:
    assert "127.0.0.1" in await look_up("localhost", 80)
    assert await look_up("127.0.0.1", 80) == ["127.0.0.1"]


async def test_a_name_that_is_not_found_is_a_sentence() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return await FixedResolver({})(host, port)

    http = HttpClient()
    with pytest.raises(NetworkError, match="was not found"):
        await Web(http, WebRules(), lookup).fetch(WebRequest("GET", "http://example.org/"))


async def test_a_name_that_no_resolver_takes_is_a_sentence() -> None:
    with pytest.raises(NetworkError, match="was not found"):
        await look_up("a" * 300, 80)


async def test_names_that_share_an_address_share_no_connection() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            await writer.drain()

    http = HttpClient()
    async with serving(serve) as url:
        port = url.rpartition(":")[2]
        names = {"a.lan": ["127.0.0.1"], "b.lan": ["127.0.0.1"]}
        rules = WebRules(local=tuple(f"{name}:{port}" for name in names))
        at_home = Web(http, rules, FixedResolver(names))
        for name in names:
            answer = await at_home.fetch(WebRequest("GET", f"http://{name}:{port}/"))
            assert json.loads(answer.text) == {}
    await http.aclose()
    assert connections == 2
