import asyncio
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.browser import proxy
from agent.tools.browser.proxy import FilteringProxy
from agent.tools.browser.traffic import PageRequest, Traffic
from agent.tools.web import Web
from tests.fakes.hostile_site import FURTHER, HostileSite, hostile_sites
from tests.waits import PATIENCE_S, wait_until


class ProxyAtWork:
    """A proxy with a site behind it, and a browser that may say anything."""

    def __init__(self, site: HostileSite) -> None:
        self.site = site
        self.looked_up: list[str] = []
        self.web = Web(HttpClient(), WebRules(local=(site.spot,)), self._look_up)
        self.traffic = Traffic(self.web)
        self.proxy = FilteringProxy(self.web, self.traffic)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]

    async def _look_up(self, host: str, _port: int) -> list[str]:
        self.looked_up.append(host)
        return ["10.0.0.7"]

    async def said(self, raw: bytes) -> bytes:
        """What comes back until the proxy closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        try:
            return await reader.read()
        finally:
            writer.close()


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with hostile_sites(FURTHER) as (one, _):
        yield one


@pytest.fixture
async def work(site: HostileSite) -> AsyncIterator[ProxyAtWork]:
    made = ProxyAtWork(site)
    await made.proxy.serve(made.door)
    with made.traffic.opened(made.web.place_of(site.url)):
        assert not made.traffic.refusal(PageRequest("GET", site.url))
        yield made
    await made.proxy.aclose()


async def test_a_page_that_was_let_through_comes_and_its_connection_ends(
    work: ProxyAtWork,
) -> None:
    asked = f"GET {work.site.url}/two HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n"
    answer = await work.said(asked.encode())
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in answer
    assert b"the second page" in answer
    assert [one.path for one in work.site.arrivals] == ["/two"]
    assert work.traffic.tally.received_bytes > 0
    # What follows in the same breath is never served
    assert (await work.said((asked + asked).encode())).count(b"the second page") <= 1
    assert len(work.site.arrivals) <= 2


@pytest.mark.parametrize(
    "asked",
    [
        "POST {url}/e HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
        "GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n",
        "GET http://169.254.169.254/ HTTP/1.1\r\n\r\n",
        "GET http://public.example.org/ HTTP/1.1\r\n\r\n",
        "CONNECT {spot} HTTP/1.1\r\n\r\n",
        "CONNECT 169.254.169.254:443 HTTP/1.1\r\n\r\n",
        "CONNECT user@{spot} HTTP/1.1\r\n\r\n",
        "GET /two HTTP/1.1\r\nHost: {spot}\r\n\r\n",
        "GET https://{spot}/two HTTP/1.1\r\n\r\n",
        "GET {url}/two HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET {url}/two HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET {url}/two HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n",
        "nonsense\r\n\r\n",
        "\xff\xfe {url} HTTP/1.1\r\n\r\n",
    ],
)
async def test_everything_else_is_refused(work: ProxyAtWork, asked: str) -> None:
    text = asked.replace("{url}", work.site.url).replace("{spot}", work.site.spot)
    assert (await work.said(text.encode("latin-1"))).startswith(b"HTTP/1.1 403")
    assert work.site.arrivals == []


async def test_a_name_is_looked_up_by_us_and_its_private_address_refused(
    work: ProxyAtWork,
) -> None:
    url = "http://public.example.org/"
    with work.traffic.opened(work.web.place_of(url)):
        assert not work.traffic.refusal(PageRequest("GET", url))
        answer = await work.said(f"GET {url} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403")
    assert work.looked_up == ["public.example.org"]


async def test_what_was_allowed_is_sent_with_its_body(work: ProxyAtWork) -> None:
    with work.traffic.opened(work.web.place_of(work.site.url), may_send=True):
        assert not work.traffic.refusal(PageRequest("POST", work.site.url))
        asked = f"POST {work.site.url}/e HTTP/1.1\r\nContent-Length: 3\r\n\r\na=b"
        assert b"taken" in await work.said(asked.encode())
    assert [one.body for one in work.site.effects] == [b"a=b"]


async def test_a_connection_that_is_dropped_as_it_comes_is_closed_too(work: ProxyAtWork) -> None:
    # Wherever in the loop's passes between the connection and its task's first step
    for passes in range(8):
        with socket.create_connection(("127.0.0.1", work.port)) as browser:
            browser.settimeout(0)
            for _ in range(passes):
                await asyncio.sleep(0)
            was_met = bool(work.proxy._open)
            await work.proxy.drop_connections()
            if was_met:
                async with asyncio.timeout(PATIENCE_S):
                    assert await asyncio.get_running_loop().sock_recv(browser, 1) == b""
        # It was accepted before this one, and is not taken for the next
        assert b"403" in await work.said(b"nonsense\r\n\r\n")
        await wait_until(lambda: not work.proxy._open)


async def test_no_more_connections_than_a_browser_needs(
    work: ProxyAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MAX_CONNECTIONS", 1)
    _, first = await asyncio.open_connection("127.0.0.1", work.port)
    assert await work.said(b"GET ") == b""
    await work.proxy.drop_connections()
    first.close()
    answer = await work.said(f"GET {work.site.url}/two HTTP/1.1\r\n\r\n".encode())
    assert b"the second page" in answer
