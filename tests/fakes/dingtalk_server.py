"""DingTalk on loopback: its two APIs and its Stream mode, with faults by order.

Written from its documentation and the vendor's client. What is said goes once, over one of the
connections; where there is none it is lost, and its writer is told so.
"""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving

CLIENT_ID, SECRET = "ding0123456789", secret("dingtalk")
CORP, BOT = "ding9f50b15b", "$:LWCP_v1:$robot"
ANNA, BEN = "manager4242", "staff0077"
DM, ROOM = "cidPrivate==", "cidRoom=="
HOOK_LASTS_S = 5400
HEARD = "/v1.0/im/bot/messages/get"
Json = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What happens to a call instead of its answer."""

    path: str
    status: int = 200
    told: Json = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass
class Sent:
    """A message of the robot."""

    where: str
    # "hook", "user" or "group"
    way: str
    kind: str
    told: Json

    @property
    def text(self) -> str:
        """What a person reads of it."""
        if self.kind in {"text", "sampleText"}:
            return str(self.told["content"])
        marked = str(self.told.get("text", ""))
        return re.sub(r"\*\*|(?<!\w)\*|\*(?!\w)", "", marked).replace("  \n", "\n")


class Cut(Exception):
    """The line is cut before there is an answer."""


@dataclass
class DingTalkServer:
    """Serves until the block ends."""

    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    # While it is so, what comes for people is cut on its way
    loses_messages: bool = False
    # Files; while it is clear they are kept back
    hands_out: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    # Of files that the robot has uploaded, by their media id
    uploads: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    acknowledgements: list[Json] = field(default_factory=list)
    # Who was told that the robot is away
    told_away: list[str] = field(default_factory=list)
    # What those that listen have subscribed to
    subscriptions: list[Any] = field(default_factory=list)
    open: list[ServerConnection] = field(default_factory=list)
    begun: int = 0
    _tickets: set[str] = field(default_factory=set)
    # Where the addresses for answers lead
    _hooks: dict[str, str] = field(default_factory=dict)
    _door: str = ""
    _count: int = 0

    def next_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    async def say(self, person: str, chat: str, text: str, **more: Any) -> Json:
        """Somebody writes; the message."""
        return await self.write(person, chat, "text", text={"content": text}, **more)

    async def write(self, person: str, chat: str, kind: str, **more: Any) -> Json:
        """The same with content of any shape."""
        is_private = chat == DM
        now_ms = int(time.time() * 1000)
        session = self.next_id("session-")
        self._hooks[session] = chat
        message = {
            "msgId": f"msg{self.next_id('')}==",
            "msgtype": kind,
            "conversationId": chat,
            "conversationType": "1" if is_private else "2",
            "senderId": f"$:LWCP_v1:${person}",
            "senderStaffId": person,
            "senderNick": person.capitalize(),
            "senderCorpId": CORP,
            "chatbotCorpId": CORP,
            "chatbotUserId": BOT,
            "robotCode": CLIENT_ID,
            "isAdmin": False,
            "isInAtList": not is_private,
            "atUsers": [] if is_private else [{"dingtalkId": BOT}],
            "createAt": now_ms,
            "sessionWebhook": f"{self.url}/robot/sendBySession?session={session}",
            "sessionWebhookExpiredTime": now_ms + HOOK_LASTS_S * 1000,
            **({} if is_private else {"conversationTitle": "Room"}),
            **more,
        }
        await self.again(message)
        return message

    async def again(self, message: Json) -> None:
        """The message, as if for the first time."""
        if not await self.push("CALLBACK", HEARD, message):
            self.told_away.append(str(message["senderStaffId"]))

    async def push(self, kind: str, topic: str, data: object) -> bool:
        """A frame over one of the connections; whether there was any."""
        told = {"appId": "app", "connectionId": "c", "contentType": "application/json"}
        number = self.next_id("213d841d_972_")
        headers = {**told, "messageId": number, "time": "1690362102194", "topic": topic}
        frame = {"specVersion": "1.0", "type": kind, "headers": headers, "data": json.dumps(data)}
        for connection in reversed(self.open):
            with contextlib.suppress(ConnectionClosed):
                await connection.send(json.dumps(frame))
                return True
        return False

    async def ping(self, opaque: str) -> None:
        await self.push("SYSTEM", "ping", {"opaque": opaque})

    async def disconnect(self) -> None:
        """Nothing goes over this connection any more; it is cut some time later."""
        await self.push("SYSTEM", "disconnect", {"reason": "connection is expired"})
        self.open.pop()

    def cut(self) -> None:
        for connection in self.open:
            connection.transport.abort()
        self.open.clear()

    def end_hooks(self) -> None:
        """No address for answers is good any more."""
        self._hooks.clear()

    def called(self, pattern: str) -> list[Any]:
        return [body for _, path, body in self.calls if re.search(pattern, path)]

    async def connected(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        [ticket] = parse_qs(urlsplit(connection.request.path).query)["ticket"]
        if ticket not in self._tickets:
            await connection.close(4001)
            return
        self._tickets.discard(ticket)
        self.open.append(connection)
        self.begun += 1
        try:
            async for message in connection:
                told = json.loads(message)
                assert isinstance(json.loads(told["data"]), dict)
                self.acknowledgements.append(told)
        except ConnectionClosed:
            pass
        finally:
            if connection in self.open:
                self.open.remove(connection)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            is_json = request.body.startswith(b"{")
            body = json.loads(request.body) if is_json else request.body
            self.calls.append((request.method, request.target, body))
            if request.target.startswith("/files/"):
                await self.hands_out.wait()
            try:
                status, headers, content = self._answer(request, body)
            except Cut:
                return
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}", *headers, "", ""]
            writer.write("\r\n".join(head).encode() + content)
            await writer.drain()

    def _answer(self, request: Request, body: Any) -> tuple[int, list[str], bytes]:
        place = urlsplit(request.target)
        for fault in self.faults:
            if re.search(fault.path, request.target):
                self.faults.remove(fault)
                return fault.status, [*fault.headers], json.dumps(fault.told).encode()
        if place.path.startswith("/files/"):
            known = place.path.removeprefix("/files/")
            return 200, [f"content-type: {self.types[known]}"], self.files[known]
        status, told = self._told(request, place.path, body)
        return status, ["content-type: application/json"], json.dumps(told).encode()

    def _told(self, request: Request, path: str, body: Any) -> tuple[int, Json]:
        if path in _OPEN:
            return _OPEN[path](self, body)
        asked = parse_qs(urlsplit(request.target).query)
        if path == "/robot/sendBySession":
            return 200, self._hooked(asked["session"][0], body)
        if path == "/media/upload":
            if asked["access_token"] != self.tokens[-1:]:
                return 200, {"errcode": 40014, "errmsg": "不合法的access_token"}
            return 200, self._uploaded(request)
        return self._with_token(request, path, body)

    def _with_token(self, request: Request, path: str, body: Any) -> tuple[int, Json]:
        if request.headers.get("x-acs-dingtalk-access-token") not in self.tokens[-1:]:
            return 401, {"code": "InvalidAuthentication", "message": "不合法的access_token"}
        assert body["robotCode"] == CLIENT_ID
        if path == "/v1.0/robot/messageFiles/download":
            return 200, {"downloadUrl": f"{self.url}/files/{body['downloadCode']}"}
        return self._by_robot(path, body)

    def opened(self, body: Json) -> tuple[int, Json]:
        if (body["clientId"], body["clientSecret"]) != (CLIENT_ID, SECRET):
            return 401, {"code": "authFailed", "message": "鉴权失败"}
        self.subscriptions.append(body["subscriptions"])
        ticket = self.next_id("7724109a-ea43+")
        self._tickets.add(ticket)
        return 200, {"endpoint": f"{self._door}/connect", "ticket": ticket}

    def made_token(self, body: Json) -> tuple[int, Json]:
        if (body["appKey"], body["appSecret"]) != (CLIENT_ID, SECRET):
            return 400, {"code": "invalidClientIdOrSecret", "message": "无效的clientId"}
        self.tokens.append(f"{self.next_id('t')}-{SECRET}")
        return 200, {"accessToken": self.tokens[-1], "expireIn": 7200}

    def _hooked(self, session: str, body: Json) -> Json:
        self._lose()
        if session not in self._hooks:
            return {"errcode": 300001, "errmsg": "session 不存在"}
        kind = body["msgtype"]
        self.messages.append(Sent(self._hooks[session], "hook", kind, body[kind]))
        return {"errcode": 0, "errmsg": "ok"}

    def _by_robot(self, path: str, body: Json) -> tuple[int, Json]:
        self._lose()
        if len(body["msgParam"].encode()) > 15_000:
            return 400, {"code": "invalidParameter.msgParam.tooLong", "message": "too long"}
        told = json.loads(body["msgParam"])
        if path == "/v1.0/robot/groupMessages/send":
            where, way = body["openConversationId"], "group"
        else:
            assert path == "/v1.0/robot/oToMessages/batchSend"
            [where], way = body["userIds"], "user"
            if where not in {ANNA, BEN}:
                return 200, {"processQueryKey": "k", "invalidStaffIdList": [where]}
        self.messages.append(Sent(where, way, body["msgKey"], told))
        lists: Json = {"invalidStaffIdList": [], "flowControlledStaffIdList": []}
        return 200, {"processQueryKey": self.next_id("key"), **(lists if way == "user" else {})}

    def _uploaded(self, request: Request) -> Json:
        assert b'name="media"' in request.body
        kind = re.search(rb'name="type"\r\n(?:.*\r\n)*\r\n(\w+)', request.body)
        name = re.search(rb'filename="([^"]*)"', request.body)
        assert kind is not None
        assert name is not None
        known = self.next_id("@lAD")
        self.uploads[known] = (name[1].decode(), _file_in(request.body))
        return {"errcode": 0, "errmsg": "ok", "media_id": known, "type": kind[1].decode()}

    def _lose(self) -> None:
        if self.loses_messages:
            raise Cut


# What needs no token
_OPEN: dict[str, Callable[[DingTalkServer, Json], tuple[int, Json]]] = {
    "/v1.0/gateway/connections/open": DingTalkServer.opened,
    "/v1.0/oauth2/accessToken": DingTalkServer.made_token,
}


@contextlib.asynccontextmanager
async def running(server: DingTalkServer | None = None) -> AsyncIterator[DingTalkServer]:
    made = server or DingTalkServer()
    made.hands_out.set()
    async with (
        serving(made.serve) as url,
        serve(made.connected, "127.0.0.1", 0, compression=None) as door,
    ):
        made.url = url
        made._door = f"ws://127.0.0.1:{next(iter(door.sockets)).getsockname()[1]}"
        yield made


def _file_in(body: bytes) -> bytes:
    """The part of a form that is a file."""
    head, _, rest = body.partition(b'name="media"')
    boundary = head.splitlines()[0]
    return rest.partition(b"\r\n\r\n")[2].partition(b"\r\n" + boundary)[0]
