"""A Bot API server on loopback, written from its documentation, with faults by order."""

import asyncio
import contextlib
import email.parser
import email.policy
import json
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.canaries import secret
from tests.fakes.raw_server import serving
from tests.fakes.telegram_methods import Methods, Refused, Upload
from tests.fakes.telegram_world import Json, World
from tests.waits import wait_until

# What follows the bot's number in its token
KEY = secret("a-token-of-the-tests")
# More than the largest file with its form
MAX_REQUEST_BYTES = 64 * 1024 * 1024
TERMINATED = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is "
    "running"
)
WEBHOOK = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete "
    "the webhook first"
)


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer.

    Args:
        html: a page with this status, from something in between.
        retry_after_s: asked too often.
        cuts: the connection ends without an answer; where `acts`, the call was done.
        refuses: the description of a 400.
    """

    method: str
    html: int = 0
    retry_after_s: int = 0
    cuts: bool = False
    acts: bool = False
    refuses: str = ""
    chat: int | None = None


@dataclass(frozen=True)
class Called:
    """A call as it arrived; a file is an `Upload`."""

    method: str
    parameters: Json
    at_s: float


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class TelegramServer:
    """Serves until the block ends."""

    world: World
    methods: Methods
    base_url: str = ""
    token: str = ""
    # Longest wait of a poll; the real one is in seconds, tests have none to lose
    longest_poll_s: float = 0.05
    webhook: bool = False
    faults: deque[Fault] = field(default_factory=deque)
    calls: list[Called] = field(default_factory=list)
    confirmed: int = 0
    # A download waits for it
    may_download: asyncio.Event = field(default_factory=_set)
    connections: int = 0
    _polling: asyncio.Task[Any] | None = None

    def called(self, method: str) -> list[Json]:
        return [one.parameters for one in self.calls if one.method == method]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        finally:
            self.connections -= 1

    async def drained(self) -> None:
        """When whatever a client sent before its death has been dealt with."""
        host, _, port = self.base_url.removeprefix("http://").partition(":")
        # Its connections wait in front of this one
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /last HTTP/1.1\r\n\r\n")
        await reader.readline()
        writer.close()
        await writer.wait_closed()
        await wait_until(lambda: not self.connections)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        path = unquote(first.split(" ")[1])
        headers = {name.lower(): value for name, _, value in (ln.partition(": ") for ln in lines)}
        body = await _body(headers, reader)
        if path.startswith(f"/file/bot{self.token}/"):
            return await self._file(path.rpartition("/")[2], writer)
        if not path.startswith(f"/bot{self.token}/"):
            return await _answer(writer, 401, _refusal(Refused(401, "Unauthorized")))
        method = path.rpartition("/")[2]
        parameters = _parameters(headers.get("content-type", ""), body)
        self.calls.append(Called(method, parameters, asyncio.get_running_loop().time()))
        return await self._called(method, parameters, writer)

    async def _called(self, method: str, asked: Json, writer: asyncio.StreamWriter) -> bool:
        fault = self._fault(method, asked)
        try:
            if fault is None or fault.acts:
                result = await self._result(method, asked)
            if fault is not None:
                return await _spoiled(writer, fault)
            return await _answer(writer, 200, {"ok": True, "result": result})
        except Refused as err:
            return await _answer(writer, err.code, _refusal(err))

    async def _result(self, method: str, asked: Json) -> Any:
        if method.lower() == "getupdates":
            return await self._poll(asked)
        return self.methods.call(method, asked)

    async def _poll(self, asked: Json) -> list[Json]:
        if self.webhook:
            raise Refused(409, WEBHOOK)
        if self._polling is not None:
            # The older one loses
            self._polling.cancel()
        mine = asyncio.ensure_future(self._updates(asked))
        self._polling = mine
        try:
            return await mine
        except asyncio.CancelledError as err:
            if mine.cancelled() and self._polling is not mine:
                raise Refused(409, TERMINATED) from err
            raise
        finally:
            if self._polling is mine:
                self._polling = None
            mine.cancel()

    async def _updates(self, asked: Json) -> list[Json]:
        world = self.world
        offset, limit = int(asked.get("offset", 0)), int(asked.get("limit", 100))
        if offset < 0:
            world.updates = world.updates[offset:]
        elif offset:
            world.updates = [one for one in world.updates if one["update_id"] >= offset]
            self.confirmed = max(self.confirmed, offset)
        wanted = set(asked.get("allowed_updates") or ()) or None
        async with world.changed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(int(asked.get("timeout", 0)), self.longest_poll_s)):
                    await world.changed.wait_for(lambda: world.updates)
        found = [one for one in world.updates if wanted is None or wanted & one.keys()]
        return found[:limit]

    async def _file(self, name: str, writer: asyncio.StreamWriter) -> bool:
        await self.may_download.wait()
        fault = self._fault("file", {})
        content = self.world.files.get(name)
        if fault is not None:
            return await _spoiled(writer, fault)
        if content is None:
            return await _answer(writer, 404, _refusal(Refused(404, "Not Found")))
        return await _send(writer, 200, "application/octet-stream", content)

    def _fault(self, method: str, asked: Json) -> Fault | None:
        for fault in self.faults:
            is_there = fault.chat is None or fault.chat == asked.get("chat_id")
            if fault.method == method and is_there:
                self.faults.remove(fault)
                return fault
        return None


@contextlib.asynccontextmanager
async def running(*, has_drafts: bool = True, port: int = 0) -> AsyncIterator[TelegramServer]:
    world = World()
    token = f"{world.bot['id']}:{KEY}"
    server = TelegramServer(world, Methods(world, has_drafts=has_drafts), token=token)
    async with serving(server.serve, port) as url:
        server.base_url = url
        yield server


async def _body(headers: dict[str, str], reader: asyncio.StreamReader) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = min(int(headers.get("content-length", 0)), MAX_REQUEST_BYTES)
        return await reader.readexactly(length)
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


async def _spoiled(writer: asyncio.StreamWriter, fault: Fault) -> bool:
    if fault.cuts:
        writer.transport.abort()
        return False
    if fault.html:
        page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        return await _send(writer, fault.html, "text/html", page)
    if fault.refuses:
        return await _answer(writer, 400, _refusal(Refused(400, fault.refuses)))
    text = f"Too Many Requests: retry after {fault.retry_after_s}"
    refused = Refused(429, text, retry_after=fault.retry_after_s)
    return await _answer(writer, 429, _refusal(refused))


async def _answer(writer: asyncio.StreamWriter, status: int, content: Json) -> bool:
    return await _send(writer, status, "application/json", json.dumps(content).encode())


async def _send(writer: asyncio.StreamWriter, status: int, kind: str, content: bytes) -> bool:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()
    return True


def _refusal(refused: Refused) -> Json:
    told: Json = {"ok": False, "error_code": refused.code, "description": refused.description}
    return told | ({"parameters": refused.parameters} if refused.parameters else {})


def _parameters(kind: str, body: bytes) -> Json:
    if kind.startswith("multipart/form-data"):
        return form_of(kind, body)
    if kind.startswith("application/x-www-form-urlencoded"):
        return _urlencoded(body)
    return dict(json.loads(body or b"{}"))


def _urlencoded(body: bytes) -> Json:
    return {name: _value(value) for name, value in parse_qsl(body.decode())}


def form_of(kind: str, body: bytes) -> Json:
    head = f"content-type: {kind}\r\n\r\n".encode()
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    found: Json = {}
    for part in form.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        file = part.get_filename()
        found[name] = _value(content.decode()) if file is None else Upload(file, content)
    # A file may be a part of its own that a parameter names
    for name, value in found.items():
        if isinstance(value, str) and value.startswith("attach://"):
            found[name] = found[value.removeprefix("attach://")]
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
