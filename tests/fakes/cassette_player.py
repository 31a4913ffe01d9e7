"""A platform that says again what a cassette holds, over HTTP, a WebSocket and posts to us."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from websockets.asyncio.server import ServerConnection, serve

from agent.channels.platform import Platform, PlatformContext
from agent.channels.push import PushReceiver, PushRequest
from agent.channels.record.recording import RecordingPaths
from agent.channels.settings import ChannelsSettings
from agent.config import decode
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.provision.toml_text import dumps
from agent.system.clock import SystemClock
from tests.waits import wait_until

Line = dict[str, Any]
# Made up, as all secrets of a replay are; the cassette's own signatures were thrown away
POST_SECRET = "0123456789abcdef0123456789abcdef"
# Made up: a cassette holds no key, and its player asks for none
TABLES: dict[str, dict[str, object]] = {
    "telegram": {"token": "1:x"},
    "discord": {"token": "x.x.x"},
    "slack": {"token": "xoxb-x", "app_token": "xapp-x"},
    "lark": {"app_id": "x", "app_secret": "x"},
    "dingtalk": {"client_id": "x", "client_secret": "x"},
    "qq": {"app_id": "1", "app_secret": "x"},
    "mattermost": {"base_url": "http://127.0.0.1:1", "token": "x" * 26},
    "ntfy": {"topic": "x"},
    "imessage": {"base_url": "http://127.0.0.1:1", "password": "x"},
    "whatsapp": {"phone_number_id": "1", "token": "x", "app_secret": POST_SECRET},
    "voice": {},
}
# Tables that a platform is nothing without
BESIDE = {"voice": {"speech": {"kind": "pocketsphinx", "speaker": {"kind": "espeak-ng"}}}}
# By the Events API, which a cassette with posts is of
POSTED = {"slack": {"token": "xoxb-x", "signing_secret": POST_SECRET}}


def lines_of(cassette: Path) -> list[Line]:
    return [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]


def channels_of(name: str, lines: Sequence[Line]) -> ChannelsSettings:
    """Return settings of the platform: what is made up, and the ids that the cassette goes by."""
    is_posted = any("post" in line for line in lines)
    made_up = POSTED.get(name, TABLES[name]) if is_posted else TABLES[name]
    ids = [line["table"] for line in lines if "table" in line]
    table = dumps({name: {**made_up, **dict(*ids)}, **BESIDE.get(name, {})})
    return decode(table, ChannelsSettings, Path("cassette.toml"))


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


def _signed(name: str, body: bytes) -> dict[str, str]:
    """Return the headers by which the platform proves who it is."""
    now = str(int(time.time()))
    told = {"slack": f"v0:{now}:".encode() + body, "whatsapp": body}[name]
    digest = hmac.new(POST_SECRET.encode(), told, hashlib.sha256).hexdigest()
    return {
        "slack": {"x-slack-signature": f"v0={digest}", "x-slack-request-timestamp": now},
        "whatsapp": {"x-hub-signature-256": f"sha256={digest}"},
    }[name]


async def _post(name: str, channel: PushReceiver, lines: Sequence[Line]) -> None:
    """Post what was posted, and come again until it is taken."""
    for line in lines:
        told, is_form = line["post"], line["form"]
        body = (urlencode(told) if is_form else json.dumps(told)).encode()
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        request = PushRequest({"content-type": kind, **_signed(name, body)}, body)
        assert channel.refusal(request.headers) is None
        await wait_until(partial(_is_answered, channel, request, line["status"]))


async def _is_answered(channel: PushReceiver, request: PushRequest, status: int) -> bool:
    return (await channel.push(request)).status == status


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
            if isinstance(channel, PushReceiver):
                posts = [line for line in lines if "post" in line]
                await _post(platform.name, channel, posts)
            await wait_until(lambda: listening.done() or len(heard) >= len(expected))
            if listening.done():
                listening.result()
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await channel.aclose()
            await http.aclose()
    return heard
