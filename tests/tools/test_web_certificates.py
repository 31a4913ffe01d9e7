"""Connecting to a checked address must not make any certificate good enough."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import NetworkError
from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.web import Web, WebRequest
from tests.fakes.certificates import trusted
from tests.fakes.resolver import FixedResolver
from tests.waits import wait_until


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[ssl.SSLContext]:
    """A server's side with a certificate for one name, which this machine trusts."""
    with trusted(tmp_path, "DNS:weather.lan") as context:
        yield context


async def fetched(name: str, authority: ssl.SSLContext) -> bytes:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhome")
        await writer.drain()
        writer.close()

    http = HttpClient()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=authority)
    port = server.sockets[0].getsockname()[1]
    web = Web(http, WebRules(local=(f"{name}:{port}",)), FixedResolver({name: ["127.0.0.1"]}))
    try:
        return (await web.fetch(WebRequest("GET", f"https://{name}:{port}/"))).body
    finally:
        await http.aclose()
        server.close()
        # What the loop still reads and writes: there is no public list of it
        transports = asyncio.get_running_loop()._transports.values()  # type: ignore[attr-defined]
        await wait_until(lambda: all(one.is_closing() for one in [*transports]))


async def test_the_certificate_is_the_names(authority: ssl.SSLContext) -> None:
    assert await fetched("weather.lan", authority) == b"home"


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the handshake that failed ends by itself
async def test_a_certificate_of_another_name_is_not_trusted(authority: ssl.SSLContext) -> None:
    with pytest.raises(NetworkError, match="cannot be trusted"):
        await fetched("evil.lan", authority)


async def test_a_name_with_a_sign_that_newer_rules_refuse_is_reached(tmp_path: Path) -> None:
    # A heart: registries have such names, which no library spells out
    name = "xn--i-7iq.lan"
    with trusted(tmp_path, f"DNS:{name}") as authority:
        assert await fetched(name, authority) == b"home"
