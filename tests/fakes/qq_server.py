"""QQ's platform for bots on loopback: tokens, REST and the gateway, with faults by order.

Written from its documentation, what others report of its codes, and the vendor's client. It keeps
the rule that matters: nothing is said but in answer to a message, five times at most, and soon.
"""

import asyncio
import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving

APP_ID, SECRET = "102000001", secret("qq")
BOT, ANNA, BEN = "12345678901234567890", "A0NNA" + "A" * 27, "B0EN" + "B" * 28
# The same in groups and in private, which is nowhere promised
ANNA_IN_ROOM, ROOM = ANNA, "R00M" + "D" * 28
GUILD, CHANNEL, DM, ANNA_IN_GUILD = "7001", "8001", "9001", "144115218000000001"
MAX_REPLIES = 5
NEEDED_INTENTS = 1 << 25
Json = dict[str, Any]
_THERE = timezone(timedelta(hours=8))

_REPEATED = (400, 40054005, "消息被去重，请检查请求msgseq")
_UNKNOWN = (400, 40034024, "请求参数msg_id无效或越权")
_TOO_LATE = (400, 40034128, "被动回复时间或次数超限")
_ADDRESS = (400, 40054010, "消息发送失败, 不允许发送url")
_FILE_KIND = (400, 850019, "富媒体文件格式不支持")


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer; where `acts`, it was done all the same."""

    path: str
    status: int = 200
    told: Json = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    cuts: bool = False
    acts: bool = False


class Refused(Exception):
    """With a status, a code and words."""


@dataclass
class Session:
    """What was said in it; what is after a number is said again."""

    events: list[Json] = field(default_factory=list)
    send: Any = None


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class QqServer:
    """Serves until the block ends."""

    url: str = ""
    heartbeat_ms: int = 41_250
    # Sessions that may be begun in five seconds
    concurrency: int = 1
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    lasts_s: int = 7200
    # Messages of people by their id: where they stand, and the answers' numbers
    written: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    # What is too old to be answered
    closed: set[str] = field(default_factory=set)
    # Nothing may be answered now
    is_shut: bool = False
    messages: list[Json] = field(default_factory=list)
    # What was uploaded, by what it can be sent with
    uploads: dict[str, bytes] = field(default_factory=dict)
    # What people sent, by the path that it is fetched at
    kept: dict[str, bytes] = field(default_factory=dict)
    # A download waits for it
    may_download: asyncio.Event = field(default_factory=_set)
    takes_addresses: bool = False
    said: list[Json] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    # What whoever introduces itself is told instead: a code of an end, or op 9 with this; the
    # second code is for sessions that are to be taken up
    closes_with: int = 0
    closes_always_with: int = 0
    invalidates: bool | None = None
    is_deaf: bool = False
    open: set[ServerConnection] = field(default_factory=set)
    closed_with: list[int] = field(default_factory=list)
    _door: str = ""
    _count: int = 0

    def next_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    @property
    def is_listened_to(self) -> bool:
        """A connection has begun a session, or taken one up."""
        return any(session.send is not None for session in self.sessions.values())

    # What people do

    def write(self, text: str, person: str = ANNA, **more: Any) -> Json:
        """In private; the event."""
        return self._written("C2C_MESSAGE_CREATE", f"users/{person}", text, person, **more)

    def write_in_room(self, text: str, **more: Any) -> Json:
        """In a group, to the bot; others are not told to it."""
        more = {"group_openid": ROOM, **more}
        kind, place = "GROUP_AT_MESSAGE_CREATE", f"groups/{ROOM}"
        return self._written(kind, place, f" {text}", ANNA_IN_ROOM, **more)

    def write_in_open_room(self, text: str, **more: Any) -> Json:
        """In a group whose owner lets the bot hear everything; `mentions` says who is called."""
        more = {"group_openid": ROOM, "message_type": 0, **more}
        return self._written("GROUP_MESSAGE_CREATE", f"groups/{ROOM}", text, ANNA_IN_ROOM, **more)

    def write_in_guild(self, text: str, **more: Any) -> Json:
        told = {"channel_id": CHANNEL, "guild_id": GUILD, "seq_in_channel": "7", **more}
        words = f"<@!{BOT}> {text}"
        place = f"channels/{CHANNEL}"
        return self._written("AT_MESSAGE_CREATE", place, words, ANNA_IN_GUILD, **told)

    def write_in_private_of_guild(self, text: str) -> Json:
        told = {"channel_id": "9002", "guild_id": DM, "src_guild_id": GUILD}
        return self._written("DIRECT_MESSAGE_CREATE", f"dms/{DM}", text, ANNA_IN_GUILD, **told)

    def _written(self, kind: str, place: str, text: str, person: str, **more: Any) -> Json:
        author: Json = {"id": person, "username": "Anna", "bot": False}
        if place.startswith("users"):
            author = {"id": person, "user_openid": person, "union_openid": person}
        elif place.startswith("groups"):
            author = {"id": person, "member_openid": person, "union_openid": person}
        message = {
            "id": self.next_id("ROBOT1.0_x-") + "!!",
            "content": text,
            "timestamp": datetime.now(_THERE).isoformat(timespec="seconds"),
            "author": author,
            **more,
        }
        self.written[message["id"]] = (place, [])
        self.tell(kind, message)
        return {"t": kind, "d": message}

    def tell(self, kind: str, told: Any) -> None:
        """An event to every session, whether anybody listens to it or not."""
        for session in self.sessions.values():
            self._dispatch(session, kind, told)

    def _dispatch(self, session: Session, kind: str, told: Any) -> None:
        number = len(session.events) + 1
        event = {"op": 0, "s": number, "t": kind, "id": f"{kind}:{number}", "d": told}
        session.events.append(event)
        if session.send is not None:
            session.send(event)

    async def say(self, told: Json) -> None:
        for connection in self.open:
            await connection.send(json.dumps(told))

    def cut(self) -> None:
        for connection in self.open:
            connection.transport.abort()

    def called(self, method: str, pattern: str) -> list[Any]:
        return [
            body for known, path, body in self.calls if known == method and re.search(pattern, path)
        ]

    # Its API

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            path = request.target
            body = json.loads(request.body) if request.body else None
            self.calls.append((request.method, path, body))
            if path in self.kept:
                await self.may_download.wait()
                _write(writer, 200, self.kept[path], ())
                continue
            fault = next((one for one in self.faults if re.search(one.path, path)), None)
            if fault is not None:
                self.faults.remove(fault)
            status, told = self._answer(request, path, body, fault)
            if fault is not None and fault.cuts:
                writer.transport.abort()
                return
            headers = ("content-type: application/json", *(fault.headers if fault else ()))
            _write(writer, status, json.dumps(told).encode(), headers)
            await writer.drain()

    def _answer(
        self, request: Request, path: str, body: Any, fault: Fault | None
    ) -> tuple[int, Json]:
        if fault is not None and not fault.acts:
            return fault.status, fault.told
        try:
            return 200, self._done(request, path, body)
        except Refused as err:
            status, code, words = err.args
            return status, {"message": words, "code": code, "err_code": code, "trace_id": "t"}

    def _done(self, request: Request, path: str, body: Any) -> Json:
        if path == "/app/getAppAccessToken":
            return self._token(body)
        if not self.tokens or request.headers.get("authorization") != f"QQBot {self.tokens[-1]}":
            raise Refused(401, 11244, "token not exist or expire")
        if path == "/users/@me":
            return {"id": BOT, "username": "Barnacle", "avatar": "", "union_openid": ""}
        if path == "/gateway/bot":
            limit = {"total": 1000, "remaining": 999, "reset_after": 1}
            limit["max_concurrency"] = self.concurrency
            return {"url": self._door, "shards": 1, "session_start_limit": limit}
        if found := re.fullmatch(r"/v2/(users|groups)/([0-9A-Z]+)/files", path):
            return self._uploaded(found[1], body)
        return self._sent(path, body)

    def _token(self, body: Json) -> Json:
        if (body["appId"], body["clientSecret"]) != (APP_ID, SECRET):
            return {"code": 100016, "message": "invalid appid or secret"}
        if not self.tokens or self.lasts_s < 60:
            self.tokens.append(f"{self.next_id('t')}-{SECRET}")
        # A number in a text, as it really is
        return {"access_token": self.tokens[-1], "expires_in": str(self.lasts_s)}

    def _uploaded(self, where: str, body: Json) -> Json:
        assert body["srv_send_msg"] is False
        # Files as such are not for groups yet
        if body["file_type"] not in range(1, 5) or (where == "groups" and body["file_type"] == 4):
            raise Refused(*_FILE_KIND)
        known = self.next_id(f"{where}-info-")
        data = body.get("file_data")
        self.uploads[known] = (
            base64.b64decode(data, validate=True) if data else body["url"].encode()
        )
        return {"file_uuid": self.next_id("u"), "file_info": known, "ttl": 3600}

    def _sent(self, path: str, body: Json) -> Json:
        found = re.fullmatch(r"/(?:v2/)?((users|groups|channels|dms)/[0-9A-Z]+)/messages", path)
        assert found is not None, path
        self._check(found[1], found[2], body)
        media = body.get("media")
        if media is not None:
            assert body["msg_type"] == 7
            assert media["file_info"].startswith(found[2])
        elif not (body.get("content") or "").strip():
            raise Refused(400, 50006, "message is empty")
        elif not self.takes_addresses and re.search(r"\w\.[a-z]{2,}", body["content"]):
            raise Refused(*_ADDRESS)
        sent = {
            "place": found[1],
            **{name: told for name, told in body.items() if told is not None},
        }
        self.messages.append(sent)
        self.written[body["msg_id"]][1].append(body.get("msg_seq") or 1)
        return {"id": self.next_id("ROBOT1.0_y-"), "timestamp": "2026-11-21T16:00:01+08:00"}

    def _check(self, place: str, kind: str, body: Json) -> None:
        answered = body.get("msg_id")
        if not answered:
            raise Refused(400, 40034102, "主动消息失败, 无权限")
        if answered not in self.written or self.written[answered][0] != place:
            raise Refused(*_UNKNOWN)
        numbers = self.written[answered][1]
        if kind in {"users", "groups"} and (body.get("msg_seq") or 1) in numbers:
            raise Refused(*_REPEATED)
        if self.is_shut or answered in self.closed or len(numbers) >= MAX_REPLIES:
            raise Refused(*_TOO_LATE)

    # Its gateway

    async def gateway(self, connection: ServerConnection) -> None:
        self.open.add(connection)
        mine: list[Session] = []
        try:
            hello = {"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}}
            await connection.send(json.dumps(hello))
            async for message in connection:
                told = json.loads(message)
                self.said.append(told)
                await self._told(connection, told, mine)
        except ConnectionClosed:
            pass
        finally:
            self.open.discard(connection)
            self.closed_with.append(connection.close_code or 1006)
            for session in mine:
                session.send = None

    async def _told(self, connection: ServerConnection, told: Json, mine: list[Session]) -> None:
        if told["op"] == 1:
            if not self.is_deaf:
                await connection.send('{"op":11}')
            return
        if self.closes_with or (self.closes_always_with and told["op"] == 6):
            code, self.closes_with = self.closes_with or self.closes_always_with, 0
            await _close(connection, code)
        elif told["d"]["token"] != f"QQBot {self.tokens[-1]}":
            await connection.close(4004, "authentication fail")
        elif self.invalidates is not None:
            may_again, self.invalidates = self.invalidates, None
            await connection.send(json.dumps({"op": 9, "d": may_again}))
        elif told["op"] == 2:
            await self._identify(connection, told["d"], mine)
        else:
            await self._resume(connection, told["d"], mine)

    async def _identify(
        self, connection: ServerConnection, told: Json, mine: list[Session]
    ) -> None:
        assert told["shard"] == [0, 1]
        if not told["intents"] & NEEDED_INTENTS:
            await connection.close(4014, "intents")
            return
        known, session = self.next_id("session-"), Session(send=_sender(connection))
        self.sessions[known] = session
        mine.append(session)
        user = {"id": BOT, "username": "Barnacle", "bot": True, "status": 1}
        ready = {"version": 1, "session_id": known, "user": user, "shard": [0, 1]}
        self._dispatch(session, "READY", ready)

    async def _resume(self, connection: ServerConnection, told: Json, mine: list[Session]) -> None:
        session = self.sessions.get(told["session_id"])
        if session is None or told["seq"] > len(session.events):
            await connection.close(4006 if session is None else 4007, "unknown")
            return
        session.send = _sender(connection)
        mine.append(session)
        for event in session.events[told["seq"] :]:
            session.send(event)
        self._dispatch(session, "RESUMED", "")


@contextlib.asynccontextmanager
async def running(server: QqServer | None = None) -> AsyncIterator[QqServer]:
    made = server or QqServer()
    async with (
        serving(made.serve) as url,
        serve(made.gateway, "127.0.0.1", 0, compression=None) as door,
    ):
        made.url = url
        port = next(iter(door.sockets)).getsockname()[1]
        made._door = f"ws://127.0.0.1:{port}/websocket/"
        yield made


async def _close(connection: ServerConnection, code: int) -> None:
    """Also with what no WebSocket may say, as this platform does."""
    if code < 5000:
        await connection.close(code, "as it was ordered")
    else:
        connection.transport.write(b"\x88\x02" + code.to_bytes(2, "big"))


def _write(
    writer: asyncio.StreamWriter, status: int, told: bytes, headers: tuple[str, ...]
) -> None:
    head = [f"HTTP/1.1 {status} -", f"content-length: {len(told)}", *headers, "", ""]
    writer.write("\r\n".join(head).encode() + told)


def _sender(connection: ServerConnection) -> Any:
    """Events go out in order, whoever causes them."""
    waiting: asyncio.Queue[Json] = asyncio.Queue()

    async def send() -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await connection.send(json.dumps(await waiting.get()))

    task = asyncio.ensure_future(send())
    closed = asyncio.ensure_future(connection.wait_closed())
    closed.add_done_callback(lambda _: task.cancel())
    return waiting.put_nowait
