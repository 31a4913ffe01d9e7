"""Discord on loopback: its REST API and its gateway, with faults by order."""

import asyncio
import contextlib
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.canaries import secret
from tests.fakes.discord_rest import Refused, Rest
from tests.fakes.discord_world import APPLICATION, BOT, CONTENT, GUILD, Json, Session, World
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving
from tests.fakes.telegram_server import form_of

TOKEN = f"MTAwMDAwMDAwMDAwMDAwMDk5.GabcdE.{secret('discord')}"
_API = "/api/v10"
_FILES = "/attachments"
# Privileged ones that nothing here has switched on
_PRIVILEGED = (1 << 1) | (1 << 8)


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer.

    Args:
        path: a pattern of what is called.
        html: a page with this status, from something in between.
        cuts: the connection ends without an answer; where `acts`, the call was done.
        refuses: status, code and words.
    """

    method: str
    path: str
    html: int = 0
    retry_after_s: float = 0
    is_global: bool = False
    cuts: bool = False
    acts: bool = False
    refuses: tuple[int, int, str] | None = None


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class DiscordServer:
    """Serves until the block ends.

    Args:
        heartbeat_ms: the real one takes 41 250.
    """

    world: World = field(default_factory=World)
    heartbeat_ms: int = 41_250
    url: str = ""
    faults: deque[Fault] = field(default_factory=deque)
    # What is said of the limit with each answer about messages: how many are left, for how long
    allowance: tuple[int, float] = (100, 1.0)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    # What came through the gateway, by its number
    said: list[Json] = field(default_factory=list)
    # The gateway answers no heartbeat
    is_deaf: bool = False
    # How the next that introduces itself is turned away
    closes_with: int = 0
    # How every session that is to be taken up is
    closes_always_with: int = 0
    # What a session that is to be taken up is told
    invalidates: bool | None = None
    # A download waits for it
    may_download: asyncio.Event = field(default_factory=_set)
    open: set[ServerConnection] = field(default_factory=set)
    closed_with: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rest = Rest(self.world)
        self._senders: dict[ServerConnection, Callable[[Json | str], None]] = {}

    def called(self, method: str, pattern: str) -> list[Any]:
        return [
            body for known, path, body in self.calls if known == method and re.search(pattern, path)
        ]

    def heard(self, op: int) -> list[Json]:
        return [one for one in self.said if one["op"] == op]

    def cut(self) -> None:
        """Every connection to the gateway ends without a word."""
        for connection in self.open:
            connection.transport.abort()

    def say(self, told: Json | str) -> None:
        """To everybody who is connected, after what they are told already."""
        for put in self._senders.values():
            put(told)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            path = request.target.partition("?")[0]
            if path.startswith(_FILES):
                await self._file(path, writer)
                continue
            path = path.removeprefix(_API)
            body, files = _body(request)
            self.calls.append((request.method, path, body))
            if not await self._answer(request, path, body, files, writer):
                return

    async def _answer(
        self, request: Request, path: str, body: Any, files: Any, writer: asyncio.StreamWriter
    ) -> bool:
        fault = self._fault(request.method, path)
        status, told = 0, None
        try:
            _admit(request, path)
            if fault is None or fault.acts:
                told = self.rest.call(request.method, path, body, files)
                status = 204 if told is None else 200
            _refuse(fault)
        except Refused as err:
            status, told = err.status, err.told
        if fault is not None and fault.cuts:
            writer.transport.abort()
            return False
        await self._write(writer, path, status, told, fault)
        return True

    async def _write(
        self, writer: asyncio.StreamWriter, path: str, status: int, told: Any, fault: Fault | None
    ) -> None:
        headers = [] if told is None else ["content-type: application/json"]
        content = b"" if told is None else json.dumps(told).encode()
        if fault is not None and fault.html:
            status, content = fault.html, b"<html><title>502 Bad Gateway</title></html>"
            headers = ["content-type: text/html"]
        elif fault is not None and fault.retry_after_s:
            status, wait_s = 429, fault.retry_after_s
            limited = {"message": "You are being rate limited.", "retry_after": wait_s}
            content = json.dumps({**limited, "global": fault.is_global}).encode()
            headers = ["content-type: application/json", "via: 1.1 google"]
            headers += [f"retry-after: {wait_s:.0f}"]
        elif "/messages" in path:
            left, after_s = self.allowance
            headers += ["x-ratelimit-bucket: abcd", "x-ratelimit-limit: 5"]
            headers += [f"x-ratelimit-remaining: {left}", f"x-ratelimit-reset-after: {after_s}"]
        head = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + content)
        await writer.drain()

    async def _file(self, path: str, writer: asyncio.StreamWriter) -> None:
        self.calls.append(("GET", path, None))
        await self.may_download.wait()
        content = self.world.files.get(path.split("/")[2])
        status = 404 if content is None else 200
        told = content or b""
        writer.write(f"HTTP/1.1 {status} -\r\ncontent-length: {len(told)}\r\n\r\n".encode() + told)
        await writer.drain()

    def _fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.method == method and re.fullmatch(fault.path, path):
                self.faults.remove(fault)
                return fault
        return None

    async def gateway(self, connection: ServerConnection) -> None:
        """One connection, from the greeting to its end."""
        self.open.add(connection)
        self._senders[connection] = _sender(connection)
        session: Session | None = None
        try:
            await connection.send(
                json.dumps({"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}})
            )
            async for message in connection:
                told = json.loads(message)
                self.said.append(told)
                session = await self._told(connection, session, told)
        except ConnectionClosed:
            pass
        finally:
            self.open.discard(connection)
            self._left(connection, session)

    def _left(self, connection: ServerConnection, session: Session | None) -> None:
        code = connection.close_code or 1006
        self.closed_with.append(code)
        put = self._senders.pop(connection)
        # It may have been taken up by another connection already
        if session is not None and session.send is put:
            session.send = None
            if connection.protocol.close_rcvd is not None and code in {1000, 1001}:
                self.world.sessions.pop(session.session_id, None)

    async def _told(
        self, connection: ServerConnection, session: Session | None, told: Json
    ) -> Session | None:
        if told["op"] == 1:
            if not self.is_deaf:
                await connection.send(json.dumps({"op": 11}))
        elif told["op"] in {2, 6} and (self.closes_with or self._ends_again(told)):
            code, self.closes_with = self.closes_with or self.closes_always_with, 0
            await connection.close(code, "as it was ordered")
        elif told["op"] in {2, 6} and told["d"]["token"] != TOKEN:
            await connection.close(4004, "Authentication failed.")
        elif told["op"] == 2:
            return await self._identify(connection, session, told["d"])
        elif told["op"] == 6:
            return await self._resume(connection, told["d"])
        elif told["op"] != 3:
            await connection.close(4001, "Unknown opcode.")
        return session

    def _ends_again(self, told: Json) -> bool:
        return bool(self.closes_always_with) and told["op"] == 6

    async def _identify(
        self, connection: ServerConnection, session: Session | None, told: Json
    ) -> Session | None:
        missing = {"intents", "properties"} - told.keys()
        refused = _PRIVILEGED | (0 if self.world.allows_content else CONTENT)
        if session is not None or missing or told["intents"] & refused:
            code = 4005 if session is not None else 4002 if missing else 4014
            await connection.close(code, "Refused.")
            return session
        begun = self.world.begin(told["intents"])
        begun.send = self._senders[connection]
        ready = {"v": 10, "user": BOT, "guilds": [{"id": GUILD, "unavailable": True}]}
        ready |= {"session_id": begun.session_id, "resume_gateway_url": self.rest.gateway_url}
        begun.dispatch("READY", {**ready, "application": {"id": APPLICATION, "flags": 0}})
        if told["intents"] & 1:
            begun.dispatch("GUILD_CREATE", self.world.guild())
        return begun

    async def _resume(self, connection: ServerConnection, told: Json) -> Session | None:
        known = self.world.sessions.get(told["session_id"])
        if known is None or self.invalidates is not None:
            may_again, self.invalidates = bool(self.invalidates), None
            await connection.send(json.dumps({"op": 9, "d": may_again}))
            return None
        if told["seq"] > len(known.events):
            await connection.close(4007, "Invalid seq.")
            return None
        known.send = self._senders[connection]
        for event in known.events[told["seq"] :]:
            known.send(event)
        known.dispatch("RESUMED", {})
        return known


@contextlib.asynccontextmanager
async def running(server: DiscordServer | None = None) -> AsyncIterator[DiscordServer]:
    made = server or DiscordServer()
    async with (
        serving(made.serve) as url,
        serve(made.gateway, "127.0.0.1", 0, compression=None) as door,
    ):
        made.url = url
        made.world.files_url = f"{url}{_FILES}"
        made.rest.gateway_url = f"ws://127.0.0.1:{next(iter(door.sockets)).getsockname()[1]}"
        yield made


def _sender(connection: ServerConnection) -> Callable[[Json | str], None]:
    """Events go out in order, whoever causes them."""
    waiting: asyncio.Queue[Json | str] = asyncio.Queue()

    async def send() -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                told = await waiting.get()
                await connection.send(told if isinstance(told, str) else json.dumps(told))

    task = asyncio.ensure_future(send())
    closed = asyncio.ensure_future(connection.wait_closed())
    closed.add_done_callback(lambda _: task.cancel())
    return waiting.put_nowait


def _admit(request: Request, path: str) -> None:
    """Interactions are answered by whoever knows their token."""
    agent, word = request.headers.get("user-agent", ""), request.headers.get("authorization", "")
    if path.startswith("/interactions/"):
        return
    if not agent.startswith("DiscordBot ("):
        raise Refused(403, 40333, "internal network error")
    if word != f"Bot {TOKEN}":
        raise Refused(401, 0, "401: Unauthorized")


def _refuse(fault: Fault | None) -> None:
    if fault is not None and fault.refuses is not None:
        raise Refused(*fault.refuses)


def _body(request: Request) -> tuple[Any, list[tuple[str, bytes]]]:
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        form = form_of(kind, request.body)
        files = [(one.name, one.content) for name, one in form.items() if name.startswith("files[")]
        return form.get("payload_json", {}), files
    return (json.loads(request.body) if request.body else {}), []
