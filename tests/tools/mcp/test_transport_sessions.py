"""Servers of the web with sessions, which forget them when they are started again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import McpAway
from agent.tools.mcp.server import McpServer, ServerTimeouts
from agent.tools.mcp.settings import McpSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import offer_of
from tests.fakes.raw_server import serving

WATER = {"name": "water", "description": "Water.", "inputSchema": {"type": "object"}}
UNKNOWN = "Bad Request: No valid session ID provided"


class ForgetfulServer:
    """A server as the protocol's own examples have it.

    Args:
        refusal: the status by which it says that it does not know a session.
    """

    def __init__(self, refusal: int) -> None:
        self._refusal = refusal
        self._sessions: set[str] = set()
        self._begun = 0
        self.watered = 0
        self.fails_with = ""

    def forget(self) -> None:
        self._sessions.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = {name: value.strip() for name, _, value in _parted(head)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        status, told, more = 405, {}, ""
        if head.startswith("post"):
            status, told, more = self._answer(json.loads(body), fields.get("mcp-session-id", ""))
        content = json.dumps(told).encode() if told else b""
        writer.write(
            f"HTTP/1.1 {status} It\r\ncontent-type: application/json\r\n{more}"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n".encode()
            + content
        )
        await writer.drain()

    def _answer(self, asked: dict[str, Any], session: str) -> tuple[int, dict[str, Any], str]:
        method, frame = asked.get("method"), {"jsonrpc": "2.0", "id": asked.get("id")}
        if method == "initialize":
            self._begun += 1
            self._sessions.add(f"session-{self._begun}")
            told = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "garden", "version": "1"},
            }
            return 200, {**frame, "result": told}, f"mcp-session-id: session-{self._begun}\r\n"
        if session not in self._sessions:
            refused = {"code": -32000, "message": UNKNOWN}
            return self._refusal, {"jsonrpc": "2.0", "id": None, "error": refused}, ""
        if "id" not in asked:
            return 202, {}, ""
        if method == "tools/list":
            return 200, {**frame, "result": {"tools": [WATER]}}, ""
        if self.fails_with:
            return 400, {**frame, "error": {"code": -32602, "message": self.fails_with}}, ""
        self.watered += 1
        said = {"content": [{"type": "text", "text": f"watered {self.watered}"}]}
        return 200, {**frame, "result": said}, ""


def _parted(head: str) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in head.splitlines()[1:]]


async def water(server: McpServer) -> str:
    digest = (await offer_of(server, "water")).digest
    return (await server.call("water", digest, {})).text


@pytest.mark.parametrize("refusal", [404, 400])
async def test_a_server_that_was_started_again_takes_the_next_call(
    tmp_path: Path, refusal: int
) -> None:
    garden = ForgetfulServer(refusal)
    async with serving(garden.serve) as url:
        patience = ServerTimeouts(start_s=15.0)
        settings = McpSettings(url=f"{url}/mcp")
        server = McpServer("garden", settings, tmp_path, SteppedClock(), patience=patience)
        try:
            for count in (1, 2, 3):
                assert await water(server) == f"watered {count}"
                garden.forget()
        finally:
            await server.aclose()


async def test_a_call_that_is_wrong_is_made_once(tmp_path: Path) -> None:
    garden = ForgetfulServer(404)
    async with serving(garden.serve) as url:
        server = McpServer("garden", McpSettings(url=f"{url}/mcp"), tmp_path, SteppedClock())
        try:
            assert await water(server) == "watered 1"
            garden.fails_with = "no such bed"
            with pytest.raises(McpAway, match="no such bed"):
                await water(server)
            garden.fails_with = ""
            assert await water(server) == "watered 2"
        finally:
            await server.aclose()
