import asyncio
import gzip
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import McpAway
from agent.tools.mcp.lines import MAX_LINE_BYTES
from agent.tools.mcp.server import McpServer, ServerTimeouts
from agent.tools.mcp.settings import McpSettings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.raw_server import Serve, serving

TOKEN = f"Bearer {secret('mcp')}"
OK = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


async def trouble(folder: Path, url: str) -> str:
    settings = McpSettings(url=url, headers={"Authorization": Secret(TOKEN)})
    patience = ServerTimeouts(start_s=15.0)
    server = McpServer("garden", settings, folder, SteppedClock(), patience=patience)
    try:
        with pytest.raises(McpAway) as caught:
            await server.offers()
    finally:
        await server.aclose()
    return str(caught.value)


def answering(heads: list[bytes], head: str, body: bytes = b"") -> Serve:
    """Says the same to everybody, and keeps what it was asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
        await writer.drain()

    return serve


async def test_a_redirect_to_another_place_is_not_followed(tmp_path: Path) -> None:
    asked: list[bytes] = []
    elsewhere: list[bytes] = []
    async with serving(answering(elsewhere, OK)) as other:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {other}/mcp\r\ncontent-length: 0\r\n"
        async with serving(answering(asked, moved)) as url:
            said = await trouble(tmp_path, f"{url}/mcp")
    assert "Redirect" in said
    assert TOKEN.encode() in asked[0]
    assert elsewhere == []
    assert TOKEN not in said


async def test_a_packed_answer_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    asked: list[bytes] = []
    bomb = gzip.compress(b" " * 50_000_000)
    head = f"{OK}content-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n"
    async with serving(answering(asked, head, bomb)) as url:
        assert "compressed" in await trouble(tmp_path, f"{url}/mcp")
    assert b"accept-encoding: identity" in asked[0].lower()


async def test_an_endless_answer_ends_at_the_limit(tmp_path: Path) -> None:
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{OK}connection: close\r\n\r\n".encode())
        while True:
            writer.write(b" " * 65536)
            await writer.drain()
            sent += 65536

    async with serving(endless) as url:
        assert f"more than {MAX_LINE_BYTES} bytes" in await trouble(tmp_path, f"{url}/mcp")
    # With what the kernel keeps on both sides
    assert sent < 16 * MAX_LINE_BYTES


async def test_an_error_does_not_tell_what_was_sent(tmp_path: Path) -> None:
    asked: list[bytes] = []
    head = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n"
    async with serving(answering(asked, head)) as url:
        said = await trouble(tmp_path, f"{url}/mcp")
    assert asked
    assert "unavailable" in said
    assert TOKEN not in said
