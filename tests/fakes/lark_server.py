"""Lark on loopback: its API and its long connection, with faults by order.

Written from its documentation and the vendor's client; what was not acknowledged comes again.
"""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from agent.channels.lark import frames
from agent.channels.lark.frames import LarkFrame
from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving

APP_ID, SECRET = "cli_0123456789", secret("lark")
BOT, ANNA, BEN = "ou_bot", "ou_anna", "ou_ben"
DM, ROOM = "oc_private", "oc_room"
SERVICE = 33554678
Json = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer."""

    path: str
    status: int = 200
    told: Json = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass
class LarkServer:
    """Serves until the block ends."""

    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    ping_every_s: int = 120
    # The largest part of an event, as the platform cuts long ones
    part_bytes: int = 1_000_000
    # How a handshake is turned away
    refuses: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)
    reactions: dict[str, Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    # Of those that are no PDF
    types: dict[str, str] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    # Events that nobody has acknowledged, by their message id
    pending: dict[str, bytes] = field(default_factory=dict)
    acknowledgements: list[LarkFrame] = field(default_factory=list)
    # Cleared: files are asked for and do not come
    may_hand_out: asyncio.Event = field(default_factory=asyncio.Event)
    pings: int = 0
    open: set[ServerConnection] = field(default_factory=set)
    _door: str = ""
    _count: int = 0

    def __post_init__(self) -> None:
        self.may_hand_out.set()

    def next_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count}"

    async def write(
        self, person: str, chat: str, content: Json, kind: str = "text", **more: Any
    ) -> Json:
        """Somebody writes; the event."""
        told = json.dumps(content, ensure_ascii=False)
        return await self.write_raw(person, chat, told, kind, **more)

    async def write_raw(
        self, person: str, chat: str, content: str, kind: str = "text", **more: Any
    ) -> Json:
        """The same with content of any shape."""
        message = {
            "message_id": self.next_id("om"),
            "create_time": str(int(time.time() * 1000)),
            "chat_id": chat,
            "chat_type": "p2p" if chat == DM else "group",
            "message_type": kind,
            "content": content,
            **more,
        }
        ids = {"open_id": person, "union_id": f"on_{person}", "user_id": None}
        sender = {"sender_id": ids, "sender_type": "user", "tenant_key": "t"}
        return await self.tell("im.message.receive_v1", {"sender": sender, "message": message})

    async def press(self, person: str, message: Json, label: str) -> None:
        actions = json.loads(message["content"])["elements"][1]["actions"]
        [value] = [one["value"] for one in actions if one["text"]["content"] == label]
        context = {"open_message_id": message["message_id"], "open_chat_id": message["chat"]}
        action = {"value": value, "tag": "button"}
        operator = {"open_id": person, "union_id": f"on_{person}", "tenant_key": "t"}
        told = {"operator": operator, "action": action, "context": context, "token": "c-1"}
        await self.tell("card.action.trigger", told)

    async def tell(self, kind: str, event: Json) -> Json:
        header = {"event_id": self.next_id("ev"), "event_type": kind, "app_id": APP_ID}
        told = {"schema": "2.0", "header": header, "event": event}
        await self.again(told)
        return told

    async def again(self, told: Json) -> None:
        """The event, as if for the first time."""
        known = self.next_id("fm")
        self.pending[known] = json.dumps(told, ensure_ascii=False).encode()
        for connection in self.open:
            await self._push(connection, known)

    def cut(self) -> None:
        for connection in self.open:
            connection.transport.abort()

    def called(self, method: str, pattern: str) -> list[Any]:
        return [
            body for known, path, body in self.calls if known == method and re.search(pattern, path)
        ]

    async def _push(self, connection: ServerConnection, known: str) -> None:
        payload = self.pending[known]
        size = self.part_bytes
        pieces = [payload[at : at + size] for at in range(0, len(payload), size)]
        for place, piece in enumerate(pieces):
            told = {"type": "event", "message_id": known, "sum": len(pieces), "seq": place}
            headers = tuple((name, str(value)) for name, value in {**told, "trace_id": "t"}.items())
            frame = LarkFrame(SERVICE, frames.DATA, headers, piece, place + 1, 7)
            with contextlib.suppress(ConnectionClosed):
                await connection.send(frames.encode(frame))

    async def connected(self, connection: ServerConnection) -> None:
        self.open.add(connection)
        try:
            for known in [*self.pending]:
                await self._push(connection, known)
            async for message in connection:
                assert isinstance(message, bytes)
                await self._heard(connection, frames.decode(message))
        except ConnectionClosed:
            pass
        finally:
            self.open.discard(connection)

    async def _heard(self, connection: ServerConnection, frame: LarkFrame) -> None:
        if frame.method == frames.CONTROL:
            assert frame.header("type") == "ping"
            assert frame.service == SERVICE
            self.pings += 1
            config = json.dumps(self._config()).encode()
            pong = LarkFrame(SERVICE, frames.CONTROL, (("type", "pong"),), config)
            await connection.send(frames.encode(pong))
            return
        assert json.loads(frame.payload or b"")["code"] == 200
        self.acknowledgements.append(frame)
        self.pending.pop(frame.header("message_id"), None)

    def _config(self) -> Json:
        told = {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30}
        return {**told, "PingInterval": self.ping_every_s}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            path = request.target.removeprefix("/open-apis")
            # The vendor's client does not always say that it sends JSON
            is_json = request.body.startswith(b"{")
            body = json.loads(request.body) if is_json else request.body
            self.calls.append((request.method, path, body))
            if "/resources/" in path:
                await self.may_hand_out.wait()
            status, headers, content = self._answer(request, path, body)
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}", *headers, "", ""]
            writer.write("\r\n".join(head).encode() + content)
            await writer.drain()

    def _answer(self, request: Request, path: str, body: Any) -> tuple[int, list[str], bytes]:
        for fault in self.faults:
            if re.search(fault.path, path):
                self.faults.remove(fault)
                return fault.status, [*fault.headers], json.dumps(fault.told).encode()
        if found := re.fullmatch(r"/im/v1/messages/\w+/resources/(\w+)\?type=(image|file)", path):
            kind = self.types.get(found[1], "application/pdf")
            return 200, [f"content-type: {kind}"], self.files[found[1]]
        told = self._told(request, path, body)
        status = 200 if told["code"] == 0 else 400
        return status, ["content-type: application/json"], json.dumps(told).encode()

    def _told(self, request: Request, path: str, body: Any) -> Json:
        if path == "/callback/ws/endpoint":
            if (body["AppID"], body["AppSecret"]) != (APP_ID, SECRET):
                return {"code": 514, "msg": "app_id or app_secret is invalid"}
            url = f"{self._door}/ws/v2?device_id=7&service_id={SERVICE}&access_key=k"
            return {"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": self._config()}}
        if path == "/auth/v3/tenant_access_token/internal":
            if (body["app_id"], body["app_secret"]) != (APP_ID, SECRET):
                return {"code": 10014, "msg": "app secret invalid"}
            self.tokens.append(f"{self.next_id('t')}-{SECRET}")
            token = {"tenant_access_token": self.tokens[-1], "expire": 7200}
            return {"code": 0, "msg": "ok", **token}
        sent = request.headers.get("authorization", "")
        if not self.tokens or sent != f"Bearer {self.tokens[-1]}":
            return {"code": 99991663, "msg": "Invalid access token for authorization."}
        return self._done(request.method, path, body)

    def _done(self, method: str, path: str, body: Any) -> Json:
        if path == "/bot/v3/info":
            return {"code": 0, "msg": "ok", "bot": {"app_name": "Barnacle", "open_id": BOT}}
        if found := re.fullmatch(r"/im/v1/messages/(om_\d+)/reactions", path):
            known = self.next_id("rn")
            self.reactions[known] = {"on": found[1], **body["reaction_type"]}
            return {"code": 0, "data": {"reaction_id": known}}
        if found := re.fullmatch(r"/im/v1/messages/om_\d+/reactions/(rn_\d+)", path):
            assert method == "DELETE"
            del self.reactions[found[1]]
            return {"code": 0, "data": {}}
        if path == "/im/v1/files":
            known = self.next_id("file")
            self.files[known] = _file_in(body)
            return {"code": 0, "data": {"file_key": known}}
        return self._sent(path, body)

    def _sent(self, path: str, body: Json) -> Json:
        if found := re.fullmatch(r"/im/v1/messages/(\w+)/reply", path):
            target: Json = {"answers": found[1], "is_in_thread": body["reply_in_thread"]}
        else:
            assert path == "/im/v1/messages?receive_id_type=chat_id"
            target = {"chat": body["receive_id"]}
        json.loads(body["content"])
        known = next((one for one in self.messages if one["uuid"] == body.get("uuid")), None)
        if known is None or not body.get("uuid"):
            made = {"message_id": self.next_id("om"), "uuid": body.get("uuid"), **target}
            known = {**made, "msg_type": body["msg_type"], "content": body["content"]}
            self.messages.append(known)
        return {"code": 0, "data": {"message_id": known["message_id"]}}


@contextlib.asynccontextmanager
async def running(server: LarkServer | None = None) -> AsyncIterator[LarkServer]:
    made = server or LarkServer()

    def admit(connection: ServerConnection, _request: Any) -> Any:
        if not made.refuses:
            return None
        answer = connection.respond(403, "refused")
        for name, value in made.refuses.items():
            answer.headers[name] = value
        return answer

    async with (
        serving(made.serve) as url,
        serve(made.connected, "127.0.0.1", 0, compression=None, process_request=admit) as door,
    ):
        made.url = url
        made._door = f"ws://127.0.0.1:{next(iter(door.sockets)).getsockname()[1]}"
        yield made


def _file_in(body: bytes) -> bytes:
    """The last part of a form."""
    return body.rpartition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0]


def text_of(message: Json) -> str:
    """What a person reads of it."""
    told = json.loads(message["content"])
    if message["msg_type"] == "interactive":
        return str(told["elements"][0]["text"]["content"])
    return str(told.get("text", ""))
