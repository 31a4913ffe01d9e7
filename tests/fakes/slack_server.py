"""Slack on loopback, written from its documentation: the Web API, Socket Mode, files, faults."""

import asyncio
import contextlib
import json
import re
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as Handshake
from websockets.http11 import Response

from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving
from tests.fakes.slack_world import Json, Refused, World, dumped

BOT_TOKEN = f"xoxb-1-2-{secret('slack')}"
APP_TOKEN = f"xapp-1-A0-{secret('slack-app')}"
_FORMS = frozenset({"files.getUploadURLExternal"})


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer.

    Args:
        method: a pattern of what is called.
        html: a page with this status, from something in between.
        is_late: Slack has done what was called for by then.
        code: of a refusal, with the fields of `more`.
    """

    method: str
    html: int = 0
    is_late: bool = False
    retry_after_s: int = 0
    code: str = ""
    more: Json = field(default_factory=dict)


@dataclass
class SlackServer:
    """Serves until the block ends."""

    world: World = field(default_factory=World)
    url: str = ""
    socket_url: str = ""
    faults: deque[Fault] = field(default_factory=deque)
    calls: list[tuple[str, Json]] = field(default_factory=list)
    # Addresses that were given out, each good for one connection
    tickets: set[str] = field(default_factory=set)
    open: list[ServerConnection] = field(default_factory=list)
    begun: int = 0
    greets: bool = True
    # Files wait for it
    may_hand_out: asyncio.Event = field(default_factory=asyncio.Event)
    waiting_for_files: int = 0
    # Receipts wait for it, of what was done
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def called(self, method: str) -> list[Json]:
        return [body for known, body in self.calls if known == method]

    def cut(self) -> None:
        """Every connection ends without a word."""
        for connection in self.open:
            connection.transport.abort()

    async def disconnect(self, reason: str) -> None:
        """Slack says that a connection will end, and goes on with it for a while."""
        for connection in [*self.open]:
            await connection.send(dumped({"type": "disconnect", "reason": reason}))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            if request.method == "GET" and request.target.startswith("/files/"):
                self.waiting_for_files += 1
                await self.may_hand_out.wait()
            status, content, headers = self._answer(request)
            await self.may_answer.wait()
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}", *headers, "", ""]
            writer.write("\r\n".join(head).encode() + content)
            await writer.drain()

    def _answer(self, request: Request) -> tuple[int, bytes, list[str]]:
        if request.target.startswith("/files/"):
            return self._file(request)
        path, _, query = request.target.partition("?")
        method = path.removeprefix("/api/")
        body = _body(request, method) | _fields(query)
        self.calls.append((method, body))
        fault = self._fault(method)
        if fault is not None and fault.html:
            if fault.is_late:
                self._call(method, body, request)
            return fault.html, b"<html>Bad Gateway</html>", ["content-type: text/html"]
        if fault is not None and fault.retry_after_s:
            told = dumped({"ok": False, "error": "ratelimited"}).encode()
            return 429, told, [f"retry-after: {fault.retry_after_s}"]
        try:
            _refuse(fault)
            told = self._call(method, body, request)
        except Refused as err:
            told = err.told
        return 200, json.dumps(told).encode(), ["content-type: application/json; charset=utf-8"]

    def _call(self, method: str, body: Json, request: Request) -> Json:
        wanted = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        if request.headers.get("authorization") != f"Bearer {wanted}":
            raise Refused("invalid_auth")
        if method == "apps.connections.open":
            ticket = secrets.token_hex(8)
            self.tickets.add(ticket)
            return {"ok": True, "url": f"{self.socket_url}/link/?ticket={ticket}&app_id=A0"}
        return self.world.call(method, body)

    def _file(self, request: Request) -> tuple[int, bytes, list[str]]:
        known = request.target.rpartition("/")[2]
        if request.method == "POST":
            self.world.files[known] = request.body
            return 200, b"OK", []
        if request.headers.get("authorization") != f"Bearer {BOT_TOKEN}":
            return 200, b"<html>Sign in</html>", ["content-type: text/html; charset=utf-8"]
        return 200, self.world.files[known], ["content-type: application/pdf"]

    def _fault(self, method: str) -> Fault | None:
        for fault in self.faults:
            if re.fullmatch(fault.method, method):
                self.faults.remove(fault)
                return fault
        return None

    def admit(self, connection: ServerConnection, request: Handshake) -> Response | None:
        ticket = request.path.partition("ticket=")[2].partition("&")[0]
        if ticket not in self.tickets:
            return connection.respond(HTTPStatus.FORBIDDEN, "no such ticket")
        self.tickets.discard(ticket)
        return None

    async def listen(self, connection: ServerConnection) -> None:
        """One connection, from the greeting to its end."""
        self.begun += 1
        self.open.append(connection)
        outgoing: asyncio.Queue[Json] = asyncio.Queue()
        sending = asyncio.ensure_future(_send(connection, outgoing))
        try:
            if self.greets:
                await connection.send(dumped({"type": "hello", "num_connections": len(self.open)}))
            for envelope in self.world.waiting.values():
                outgoing.put_nowait({**envelope, "retry_attempt": 1})
            self.world.lines.append(outgoing.put_nowait)
            async for message in connection:
                self.world.waiting.pop(json.loads(message)["envelope_id"], None)
        except ConnectionClosed:
            pass
        finally:
            self.open.remove(connection)
            if outgoing.put_nowait in self.world.lines:
                self.world.lines.remove(outgoing.put_nowait)
            sending.cancel()


@contextlib.asynccontextmanager
async def running(server: SlackServer | None = None) -> AsyncIterator[SlackServer]:
    made = server or SlackServer()
    made.may_hand_out.set()
    made.may_answer.set()
    async with (
        serving(made.serve) as url,
        serve(made.listen, "127.0.0.1", 0, compression=None, process_request=made.admit) as door,
    ):
        made.url = url
        made.world.files_url = f"{url}/files"
        made.socket_url = f"ws://127.0.0.1:{next(iter(door.sockets)).getsockname()[1]}"
        yield made


async def _send(connection: ServerConnection, outgoing: "asyncio.Queue[Json]") -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await connection.send(dumped(await outgoing.get()))


def _refuse(fault: Fault | None) -> None:
    if fault is not None:
        raise Refused(fault.code, **fault.more)


def _body(request: Request, method: str) -> Any:
    if not request.body:
        return {}
    kind = request.headers.get("content-type", "")
    if kind.startswith("application/x-www-form-urlencoded"):
        return _fields(request.body.decode())
    # Such a method reads no JSON: it finds nothing
    return {} if method in _FORMS else json.loads(request.body)


def _fields(form: str) -> Json:
    """Of a form or an address; what has parts stands there as JSON."""
    found = {name: values[0] for name, values in parse_qs(form).items()}
    return {name: json.loads(told) if told[:1] in "[{" else told for name, told in found.items()}
