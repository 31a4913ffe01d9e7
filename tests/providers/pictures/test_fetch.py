from collections.abc import Sequence
from typing import ClassVar

import httpx
import pytest

from agent.messages import Image
from agent.net.http import HttpClient
from agent.providers.pictures.fetch import PictureFetch
from tests.fakes.llm_server import Reply
from tests.fakes.llm_transport import OneReplyTransport
from tests.providers.pictures.test_kinds import PNG

URL = "https://example.org/a/lamp.png"


async def public(_: str) -> Sequence[str]:
    return ["93.184.216.34", "2606:2800:220:1::1"]


async def load(reply: Reply, url: str = URL, addresses: Sequence[str] | None = None) -> Image | str:
    async def find(host: str) -> Sequence[str]:
        return await public(host) if addresses is None else addresses

    http = HttpClient(OneReplyTransport(reply))
    try:
        return await PictureFetch(http, 1000, find).load(url)
    finally:
        await http.aclose()


async def test_a_picture_is_fetched_and_known_by_its_content() -> None:
    found = await load(Reply(PNG, content_type="text/html", piece_bytes=3))
    assert isinstance(found, Image)
    assert found.media_type == "image/png"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            Reply(status=302, headers=(("location", "https://10.0.0.1/"),)),
            "redirects are not",
        ),
        (Reply(b"no", status=404), "status 404"),
        (Reply(b"<html>"), "it is not a PNG"),
        (Reply(PNG.ljust(100_000), piece_bytes=500), "it is larger than"),
        (Reply(PNG, cut_after=4), "broke off"),
    ],
)
async def test_whatever_else_comes_is_told(reply: Reply, why: str) -> None:
    found = await load(reply)
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize(
    "addresses",
    [
        *(
            ["127.0.0.1"],
            ["10.0.0.7"],
            ["192.168.1.1"],
            ["169.254.169.254"],
            ["172.16.0.1"],
            ["::1"],
        ),
        *(["fe80::1%eth0"], ["fd00::1"], ["::ffff:10.0.0.1"], ["0.0.0.0"], ["224.0.0.1"], []),
        *(["100.64.0.1"], ["93.184.216.34", "10.0.0.7"], ["2002:a00:1::"], ["nonsense"]),
    ],
)
async def test_what_is_not_on_the_public_internet_is_not_asked(addresses: list[str]) -> None:
    found = await load(Reply(PNG), addresses=addresses)
    assert isinstance(found, str)
    assert any(why in found for why in ("of this machine or network", "no address", "unusual form"))


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.org/a.png", "ftp://example.org/a.png", "file:///etc/passwd", "https://"),
        *("https://user:secret@example.org/a.png", "https://example.org:8443/a.png", "data:,x"),
        *("https://example.org/a b.png", "https://exämple.org/a.png", "https://[::1", "https:a"),
        f"https://example.org/{'a' * 3000}",
    ],
)
async def test_only_plain_https_addresses_are_asked(url: str) -> None:
    assert await load(Reply(PNG), url) == "its address must be like https://example.org/picture.png"


async def test_a_name_that_nobody_knows_is_told() -> None:
    async def find(_: str) -> Sequence[str]:
        raise OSError("no such host")

    http = HttpClient(OneReplyTransport(Reply(PNG)))
    assert await PictureFetch(http, 1000, find).load(URL) == "example.org was not found"


async def test_the_address_that_was_looked_at_is_the_one_that_is_asked() -> None:
    class Noting(OneReplyTransport):
        hosts: ClassVar[list[str]] = []

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.hosts.append(request.url.host)
            return await super().handle_async_request(request)

    http = HttpClient(Noting(Reply(PNG)))
    assert isinstance(await PictureFetch(http, 1000, public).load(URL), Image)
    await http.aclose()
    assert Noting.hosts == ["93.184.216.34"]


async def test_a_picture_is_fetched_once() -> None:
    asked = []

    async def find(host: str) -> Sequence[str]:
        asked.append(host)
        return await public(host)

    http = HttpClient(OneReplyTransport(Reply(PNG)))
    fetch = PictureFetch(http, 1000, find)
    assert await fetch.load(URL) == await fetch.load(URL)
    await http.aclose()
    assert asked == ["example.org"]
