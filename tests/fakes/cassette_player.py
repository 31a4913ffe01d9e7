"""A platform that says again what a cassette holds, over HTTP and over a WebSocket."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.server import ServerConnection, serve

from agent.channels.platform import Platform, PlatformContext
from agent.channels.record.recording import RecordingPaths
from agent.channels.settings import ChannelsSettings
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.waits import wait_until

Line = dict[str, Any]


def lines_of(cassette: Path) -> list[Line]:
    return [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]


class CassettePlayer(httpx.AsyncBaseTransport):
    """Answers each request with the next answer that was recorded for its path."""

    def __init__(self, lines: Sequence[Line], socket_url: str) -> None:
        self._left = [line for line in lines if "answer" in line]
        self._socket_url = socket_url

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        last = request.url.path.rpartition("/")[2]
        for line in self._left:
            is_there = line["path"] == request.url.path or line["path"].endswith(f"/{last}")
            if is_there and line["method"] == request.method:
                self._left.remove(line)
                body = json.dumps(self._here(line["answer"])).encode()
                return httpx.Response(line["status"], stream=httpx.ByteStream(body))
        # The platform was silent from here on
        await asyncio.Event().wait()
        raise AssertionError

    def _here(self, told: Any) -> Any:
        """Lead to this player whatever led to the platform's sockets."""
        if isinstance(told, dict):
            return {name: self._here(one) for name, one in told.items()}
        if isinstance(told, list):
            return [self._here(one) for one in told]
        is_socket = isinstance(told, str) and told.startswith(("wss://", "ws://"))
        return self._socket_url if is_socket else told


@contextlib.asynccontextmanager
async def _sockets(lines: Sequence[Line]) -> AsyncIterator[str]:
    async def play(connection: ServerConnection) -> None:
        for line in lines:
            if "frame" in line:
                await connection.send(json.dumps(line["frame"]))
        await connection.wait_closed()

    async with serve(play, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def replayed(
    platform: Platform, channels: ChannelsSettings, lines: Sequence[Line], folder: Path
) -> list[Inbound]:
    """Return what the platform's channel hears of the cassette."""
    expected = [line for line in lines if "heard" in line]
    heard: list[Inbound] = []

    async def deliver(message: Inbound) -> None:
        heard.append(message)

    async with _sockets(lines) as url:
        http = HttpClient(transport=CassettePlayer(lines, url))
        reach = PlatformContext(RecordingPaths(folder), {}, http, SystemClock())
        channel = platform.open(channels, reach)
        listening = asyncio.create_task(channel.listen(deliver))
        try:
            await wait_until(lambda: listening.done() or len(heard) >= len(expected))
            if listening.done():
                listening.result()
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await channel.aclose()
            await http.aclose()
    return heard
