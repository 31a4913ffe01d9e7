"""A gateway of the real server on loopback, callers without manners, and a program that signs."""

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.access.pairing_codes import Codes
from agent.access.people import PeopleStore
from agent.channels.push_ledger import PushLedger
from agent.channels.webhook.channel import WebhookChannel, WebhookPeer
from agent.channels.webhook.messages import key_of, signed
from agent.errors import StorageFull
from agent.gateway.application import StatusSources
from agent.gateway.gateway import Gateway, GatewayParts
from agent.gateway.metrics import MetricSample
from agent.gateway.settings import GatewaySettings
from agent.gateway.tokens import GatewayTokens
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock

TOKEN = "8c1f0e6ad2b94735c6a1be0f9d82e37415d6f8a90b3c2e4d7f6a5b1c0d9e8f72"
SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"
KEY = key_of(SECRET)
LOOPBACK = GatewaySettings(listen="127.0.0.1:0")
PATIENCE_S = 30.0


@dataclass
class Answer:
    """What came back; status 0 where the connection was cut before anything came."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def said(self) -> str:
        return self.body.decode()


class Listening:
    """A gateway at work with a webhook channel, and what that has heard."""

    def __init__(self, gateway: Gateway, folder: Path, clock: Clock) -> None:
        self.gateway = gateway
        self.heard: list[Inbound] = []
        self.troubles: dict[str, str] = {}
        self.is_full = False
        self.people = PeopleStore(folder / "people.json", clock)
        self.codes = Codes(folder / "codes.json", clock)
        self.task = asyncio.ensure_future(gateway.run())

    def end(self) -> None:
        self.task.cancel()

    async def ended(self) -> None:
        await asyncio.wait({self.task})

    @property
    def port(self) -> int:
        return self.gateway.port

    async def deliver(self, inbound: Inbound) -> None:
        if self.is_full:
            raise StorageFull("no room")
        self.heard.append(inbound)

    async def ask(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        host: str | None = "127.0.0.1",
    ) -> Answer:
        """One request, word for word."""
        told = [*([("host", host)] if host is not None else []), *headers]
        if body:
            told.append(("content-length", str(len(body))))
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in told)]
        return await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def send(self, raw: bytes) -> Answer:
        reader, writer = await self.connect()
        try:
            with contextlib.suppress(ConnectionError):
                writer.write(raw)
                await writer.drain()
            return await answer_of(reader)
        finally:
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.gateway.place.path is not None:
            return await asyncio.open_unix_connection(self.gateway.place.path)
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        return await self.ask("POST", "/webhook", headers.items(), body)

    async def say(self, text: str, message_id: str, **more: str) -> Answer:
        """A message as it should be."""
        body = letter(text, **more)
        return await self.post(body, signed(KEY, message_id, time.time(), body))


def letter(text: str, **more: str) -> bytes:
    return json.dumps({"sender": "greenhouse", "text": text, **more}).encode()


def bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")]


async def answer_of(reader: asyncio.StreamReader, patience_s: float = PATIENCE_S) -> Answer:
    async with asyncio.timeout(patience_s):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            return Answer()
    first, *lines = head.decode().strip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), headers, body)


async def some_samples() -> list[MetricSample]:
    return [
        MetricSample("messages", "Messages.", 3, {"channel": 'a"b'}),
        MetricSample("stopped", "Stop.", 0),
    ]


@contextlib.asynccontextmanager
async def listening(
    folder: Path,
    wanted: GatewaySettings = LOOPBACK,
    *,
    clock: Clock | None = None,
    token: str = "",
    reply_url: str = "http://127.0.0.1:9/",
    samples: Callable[[], Awaitable[list[MetricSample]]] = some_samples,
) -> AsyncIterator[Listening]:
    clock = clock or SystemClock()
    http = HttpClient()
    ledger = PushLedger(folder / "webhook.db", clock)
    channel = WebhookChannel(WebhookPeer(reply_url, KEY), ledger, http, clock)
    troubles: dict[str, str] = {}
    shown = StatusSources(lambda: troubles, samples)
    tokens = GatewayTokens(
        token,
        PeopleStore(folder / "people.json", clock),
        Codes(folder / "codes.json", clock),
        clock,
    )
    house = GatewayParts(folder, folder / "gateway.db", shown, [channel])
    made = Listening(Gateway(wanted, token, tokens, house, clock), folder, clock)
    made.troubles = troubles
    tasks = [
        made.task,
        asyncio.ensure_future(channel.listen(made.deliver)),
    ]
    try:
        # The first one is answered when both are at work
        await made.ask("GET", "/")
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await channel.aclose()
        await http.aclose()
