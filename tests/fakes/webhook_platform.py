"""A program that speaks for people by webhooks: it signs, tries again, and takes signed answers."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

from agent.access.pairing_codes import Codes
from agent.access.people import PeopleStore
from agent.channels.base import Answer, Question
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.webhook.channel import WebhookChannel, WebhookPeer
from agent.gateway.application import StatusSources
from agent.gateway.gateway import Gateway, GatewayParts
from agent.gateway.tokens import GatewayTokens
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.gateway import KEY, LOOPBACK, answer_of, some_samples
from tests.fakes.gateway import Answer as Reply
from tests.fakes.raw_server import stop_listening
from tests.waits import wait_until

TRY_AGAIN_S = 0.02


def signature(key: bytes, message_id: str, at: str, body: bytes) -> str:
    """As the specification has it, by nobody's code but this."""
    digest = hmac.new(key, message_id.encode() + b"." + at.encode() + b"." + body, hashlib.sha256)
    return f"v1,{base64.b64encode(digest.digest()).decode()}"


class Program:
    """Takes answers, and sends what people say until it is taken."""

    def __init__(self, key: bytes = KEY) -> None:
        self.told: list[dict[str, object]] = []
        self.unsigned = 0
        self.reply_url = ""
        self.gateway_port = 0
        self._key = key
        # How the next answer is met: a status, and how long to be left alone
        self.trouble: tuple[int, float] | None = None
        self._trying: set[asyncio.Task[None]] = set()
        self._count = 0
        self._taken: set[str] = set()
        self.last: tuple[str, bytes] = ("", b"")

    async def say(self, text: str, sender: str = "alice", **more: str) -> None:
        self._count += 1
        body = json.dumps({"sender": sender, "text": text, **more}).encode()
        self.last = (f"said-{self._count}", body)
        await self.send_last()

    async def send_last(self) -> None:
        """At once, and when that is not taken, again and again."""
        if (await self._post(*self.last)).status != 200:
            task = asyncio.ensure_future(self._try_again(*self.last))
            self._trying.add(task)
            task.add_done_callback(self._trying.discard)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            headers = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
            body = await reader.readexactly(int(headers["content-length"]))
            status, wait_s = self._status(headers, body)
            told = f"retry-after: {wait_s:.0f}\r\n" if wait_s else ""
            writer.write(f"HTTP/1.1 {status} x\r\n{told}content-length: 0\r\n\r\n".encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _status(self, headers: Mapping[str, str], body: bytes) -> tuple[int, float]:
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            return trouble
        message_id, at = headers["webhook-id"], headers["webhook-timestamp"]
        # The header's case was lost above; it is compared without
        if headers["webhook-signature"] != signature(self._key, message_id, at, body).lower():
            self.unsigned += 1
            return 401, 0
        if message_id not in self._taken:
            # What came again after a cut is the same one
            self._taken.add(message_id)
            self.told.append(json.loads(body))
        return 200, 0

    async def _try_again(self, message_id: str, body: bytes) -> None:
        async def is_taken() -> bool:
            return (await self._post(message_id, body)).status == 200

        await wait_until(is_taken, look_s=TRY_AGAIN_S)

    async def _post(self, message_id: str, body: bytes) -> Reply:
        at = str(int(time.time()))
        told = {
            "host": "localhost",
            "webhook-id": message_id,
            "webhook-timestamp": at,
            "webhook-signature": signature(self._key, message_id, at, body),
            "content-length": str(len(body)),
        }
        lines = ["POST /webhook HTTP/1.1", *(f"{name}: {text}" for name, text in told.items())]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway_port)
        except ConnectionError:
            return Reply()
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            return await answer_of(reader)
        finally:
            writer.close()

    async def aclose(self) -> None:
        for task in self._trying:
            task.cancel()
        await asyncio.gather(*self._trying, return_exceptions=True)


class Present:
    """Pushes to the channel that there is now."""

    path = WebhookChannel.path

    def __init__(self, channel: WebhookChannel) -> None:
        self.channel = channel

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return self.channel.refusal(headers)

    async def push(self, push: PushRequest) -> PushAnswer:
        return await self.channel.push(push)


class WebhookPlatform:
    """For the contract of channels."""

    cannot: Mapping[str, str] = MappingProxyType({})
    repeats_what_was_not_confirmed = True

    def __init__(self, program: Program, http: HttpClient, folder: Path) -> None:
        self._program = program
        self._http = http
        self._folder = folder
        self.present = Present(self._made())

    @property
    def channel(self) -> WebhookChannel:
        return self.present.channel

    def restarted(self) -> WebhookChannel:
        self.present.channel = self._made()
        return self.channel

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        """Whatever a program hands over is for the agent."""
        await self._program.say(text, **({"group": "kitchen"} if is_group else {}))

    async def write_in_thread(self, text: str) -> bool:
        await self._program.say(text, group="kitchen", thread="dinner")
        return True

    async def repeat(self) -> None:
        await self._program.send_last()

    def shown(self, inbound: Inbound) -> list[str]:
        """As a program shows Markdown that knows bold alone."""
        place = (inbound.reply_target, inbound.thread)
        there = [one for one in self._program.told if (one["to"], one.get("thread")) == place]
        return [str(one["text"]).replace("**", "") for one in there]

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self._program.trouble = (429 if retry_after_s else 500, retry_after_s)

    def cut_listening(self) -> None:
        """Each message has a connection of its own."""

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self._program.say(f"{answer.value} {question.question_id}")

    def _made(self) -> WebhookChannel:
        clock = SystemClock()
        ledger = PushLedger(self._folder / "webhook.db", clock)
        return WebhookChannel(WebhookPeer(self._program.reply_url, KEY), ledger, self._http, clock)


@contextlib.asynccontextmanager
async def program() -> AsyncIterator[Program]:
    """One that takes answers."""
    made = Program()
    server = await asyncio.start_server(made.take, "127.0.0.1", 0)
    made.reply_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/answers"
    try:
        yield made
    finally:
        await made.aclose()
        await stop_listening(server)


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[WebhookPlatform]:
    http, clock = HttpClient(), SystemClock()
    async with program() as there:
        platform = WebhookPlatform(there, http, folder)
        people, codes = PeopleStore(folder / "p.json", clock), Codes(folder / "c.json", clock)
        house = GatewayParts(
            folder, folder / "g.db", StatusSources(dict, some_samples), [platform.present]
        )
        gateway = Gateway(LOOPBACK, "", GatewayTokens("", people, codes, clock), house, clock)
        there.gateway_port = gateway.port
        task = asyncio.ensure_future(gateway.run())
        try:
            yield platform
        finally:
            task.cancel()
            await asyncio.wait([task])
            await platform.channel.aclose()
            await http.aclose()
