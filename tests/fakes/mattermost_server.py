"""A Mattermost server on loopback, written from its API's documentation: REST, WebSocket, faults.

The real one is a program in Go that no archive of Debian has; nothing here was compared with it.
"""

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.canaries import secret
from tests.fakes import relay
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving
from tests.fakes.telegram_server import form_of

TOKEN = secret("mattermost")
ME, ANNA, ROBOT = ("m" * 26, "a" * 26, "r" * 26)
DM, ROOM = ("d" * 26, "o" * 26)
KINDS = {DM: "D", ROOM: "O"}
USERNAME = "barnacle"
MAX_CHARS = 16_383

Json = dict[str, Any]


@dataclass
class Fault:
    """What happens to the next post that is made: a status, or to be left alone for a while."""

    status: int
    reset_s: float = 0


class Refused(Exception):
    """What a call is told instead."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        self.told = {"id": "api.x.app_error", "message": words, "status_code": status}
        self.told |= {"detailed_error": "", "request_id": "k3wtcpzf1jdj5xk8o4mscr1b4w"}
        super().__init__(words)


@dataclass
class MattermostServer:
    """Serves until the block ends."""

    url: str = ""
    socket_port: int = 0
    posts: dict[str, Json] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    reactions: set[tuple[str, str]] = field(default_factory=set)
    typings: list[Json] = field(default_factory=list)
    patches: int = 0
    fault: Fault | None = None
    refusals: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    # Those who have said who they are
    entered: set[ServerConnection] = field(default_factory=set)
    times_entered: int = 0
    # Paths that the bot has lost its right to
    closed: set[str] = field(default_factory=set)
    # Whether a post says what its files are
    tells_files: bool = True
    # Files wait for it
    may_hand_out: asyncio.Event = field(default_factory=asyncio.Event)
    _count: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _pending: dict[str, Json] = field(default_factory=dict)
    _latest_ms: int = 0

    def post(self, channel: str, user: str, message: str, **more: Any) -> Json:
        """As anybody does; the post, which everybody is told of."""
        number = next(self._count)
        made = {"id": f"p{number:025d}", "create_at": self._moment_ms(), "delete_at": 0}
        made |= {"update_at": made["create_at"], "channel_id": channel, "user_id": user}
        made |= {"message": message, "root_id": "", "type": "", "props": {}, "file_ids": []}
        made |= more
        if made["file_ids"] and self.tells_files:
            made["metadata"] = {"files": [self.info(one) for one in made["file_ids"]]}
        self.posts[made["id"]] = made
        self.tell(made)
        return made

    def tell(self, post: Json) -> None:
        """To everybody who listens."""
        names = {"sender_name": "@anna", "channel_type": KINDS[post["channel_id"]]}
        self._broadcast("posted", post, names)

    def edit(self, post: Json, message: str) -> None:
        """As a person does; everybody is told of it, and nothing else with it."""
        at_ms = self._moment_ms()
        post |= {"message": message, "edit_at": at_ms, "update_at": at_ms}
        self._broadcast("post_edited", post, {})

    def _broadcast(self, event: str, post: Json, about: Json) -> None:
        told = {"event": event, "data": {**about, "post": json.dumps(post)}, "seq": 2}
        told["broadcast"] = {"channel_id": post["channel_id"]}
        self.say(json.dumps(told))

    def say(self, raw: str) -> None:
        for connection in self.entered:
            task = asyncio.ensure_future(connection.send(raw))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _moment_ms(self) -> int:
        """Now; each of its own, so that the order is told."""
        self._latest_ms = max(self._latest_ms + 1, int(time.time() * 1000))
        return self._latest_ms

    def keep(self, name: str, content: bytes) -> str:
        known = f"f{next(self._count):025d}"
        self.files[known] = name, content
        return known

    def info(self, known: str) -> Json:
        name, content = self.files[known]
        return {"id": known, "name": name, "size": len(content), "mime_type": "application/pdf"}

    def cut(self) -> None:
        for connection in self.entered:
            connection.transport.abort()

    async def gateway(self, connection: ServerConnection) -> None:
        try:
            async for message in connection:
                told = json.loads(message)
                assert told["action"] == "authentication_challenge"
                if told["data"]["token"] != TOKEN:
                    failed = {"status": "FAIL", "seq_reply": told["seq"], "error": {"id": "x"}}
                    await connection.send(json.dumps(failed))
                    return
                self.entered.add(connection)
                self.times_entered += 1
                await connection.send(json.dumps({"event": "hello", "data": {}, "seq": 0}))
                await connection.send(json.dumps({"status": "OK", "seq_reply": told["seq"]}))
        except ConnectionClosed:
            pass
        finally:
            self.entered.discard(connection)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            parts = urlsplit(request.target)
            path = parts.path.removeprefix("/api/v4")
            self.calls.append((request.method, path))
            if path == "/websocket":
                await self._pass_on(request, reader, writer)
                return
            if request.method == "GET" and path.removeprefix("/files/") in self.files:
                await self.may_hand_out.wait()
            status, content, more = self._answer(request, path, parse_qs(parts.query))
            more = more or ["content-type: application/json"]
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}", *more, "", ""]
            writer.write("\r\n".join(head).encode() + content)
            await writer.drain()

    async def _pass_on(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One address for both, as the real server has it."""
        there, back = await asyncio.open_connection("127.0.0.1", self.socket_port)
        head = [f"GET {request.target} HTTP/1.1"]
        head += [f"{name}: {value}" for name, value in request.headers.items()]
        back.write("\r\n".join([*head, "", ""]).encode())
        await relay.pass_on((reader, writer), (there, back))

    def _answer(
        self, request: Request, path: str, query: dict[str, list[str]]
    ) -> tuple[int, bytes, list[str]]:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, _json(Refused(401, "Invalid or expired session").told), []
        if request.method == "POST" and path == "/posts" and self.fault is not None:
            fault, self.fault = self.fault, None
            more = [f"x-ratelimit-reset: {fault.reset_s:.0f}"] if fault.reset_s else []
            return fault.status, b"in the way", ["content-type: text/plain", *more]
        if path in self.closed:
            return 403, _json(Refused(403, "You do not have the appropriate permissions.").told), []
        if found := re.fullmatch(r"/files/(\w{26})", path):
            return 200, self.files[found[1]][1], ["content-type: application/pdf"]
        try:
            return 200, _json(self._called(request, path, query)), []
        except Refused as err:
            self.refusals += 1
            return err.status, _json(err.told), []

    def _called(self, request: Request, path: str, query: dict[str, list[str]]) -> Any:
        match request.method, *path.strip("/").split("/"):
            case "GET", "users", "me":
                return {"id": ME, "username": USERNAME, "is_bot": True}
            case "GET", "users", "me", "channels":
                return [self._room(one) for one in KINDS]
            case "GET", "channels", channel, *posts:
                asked = {key: value[0] for key, value in query.items()}
                return self._listed(channel, asked) if posts else self._room(channel)
            case "GET", "posts", post, "files", "info":
                return [self.info(one) for one in self.posts[post]["file_ids"]]
            case "POST", "files":
                return self._filed(request)
        return self._written(request.method, path, json.loads(request.body or "{}"))

    def _filed(self, request: Request) -> Json:
        file = form_of(request.headers["content-type"], request.body)["files"]
        return {"file_infos": [self.info(self.keep(file.name, file.content))]}

    def _written(self, method: str, path: str, told: Json) -> Any:
        match method, *path.strip("/").split("/"):
            case "POST", "posts":
                return self._posted(told)
            case "PUT", "posts", post, "patch":
                return self._patched(post, told)
            case "POST", "reactions":
                assert told["user_id"] == ME
                self.reactions.add((told["post_id"], told["emoji_name"]))
                return told
            case "POST", "users", "me", "typing":
                self.typings.append(told)
                return {"status": "OK"}
            case "DELETE", "users", "me", "posts", post, "reactions", name:
                self.reactions.discard((post, name))
                return {"status": "OK"}
        raise Refused(404, "Sorry, we could not find the page.")

    def _posted(self, told: Json) -> Json:
        if told["channel_id"] not in KINDS:
            raise Refused(403, "You do not have the appropriate permissions.")
        if told.get("root_id") and told["root_id"] not in self.posts:
            raise Refused(400, "Invalid RootId parameter.")
        _fits(told["message"])
        pending = told.pop("pending_post_id", "")
        if pending and pending in self._pending:
            return self._pending[pending]
        channel, message = told.pop("channel_id"), told.pop("message")
        made = self.post(channel, ME, message, **{**told, "props": {"from_bot": "true"}})
        if pending:
            self._pending[pending] = made
        return made

    def _patched(self, post: str, told: Json) -> Json:
        if post not in self.posts:
            raise Refused(404, "Unable to get the post.")
        _fits(told["message"])
        self.patches += 1
        self.posts[post]["message"] = told["message"]
        self.posts[post]["update_at"] = self._moment_ms()
        return self.posts[post]

    def _room(self, channel: str) -> Json:
        latest = [one["create_at"] for one in self.posts.values() if one["channel_id"] == channel]
        return {"id": channel, "type": KINDS[channel], "last_post_at": max(latest, default=0)}

    def _listed(self, channel: str, asked: dict[str, str]) -> Json:
        there = [one for one in self.posts.values() if one["channel_id"] == channel]
        there = sorted(there, key=lambda one: -one["create_at"])
        if "since" in asked:
            found = [one for one in there if one["update_at"] > int(asked["since"])]
        else:
            before = asked.get("before", "")
            places = [number for number, one in enumerate(there, 1) if one["id"] == before]
            first = places[0] if places else 0
            found = there[first : first + int(asked.get("per_page", 60))]
        return {"order": [one["id"] for one in found], "posts": {one["id"]: one for one in found}}


@contextlib.asynccontextmanager
async def running(server: MattermostServer | None = None) -> AsyncIterator[MattermostServer]:
    made = server or MattermostServer()
    made.may_hand_out.set()
    async with (
        serve(made.gateway, "127.0.0.1", 0, compression=None) as door,
        serving(made.serve) as url,
    ):
        made.url = url
        made.socket_port = next(iter(door.sockets)).getsockname()[1]
        yield made


def _fits(message: str) -> None:
    if len(message) > MAX_CHARS:
        raise Refused(400, "Invalid Message parameter.")


def _json(told: Any) -> bytes:
    # As Go's encoder: no other letters are escaped, but what HTML would read is
    text = json.dumps(told, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").encode()
