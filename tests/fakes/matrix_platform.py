"""Matrix for the checks that every platform passes: a real homeserver, and Anna in it."""

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.matrix.channel import MatrixChannel
from agent.channels.matrix.client import MatrixApi, MatrixFixedToken
from agent.channels.matrix.encrypted_events import encryption_for
from agent.channels.received_files import Knows, ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse, until_joined


class Troubled(httpx.AsyncHTTPTransport):
    """A way to the server on which the next message meets something else."""

    def __init__(self) -> None:
        super().__init__()
        self.next_send: httpx.Response | None = None
        # The server has it, and nobody hears of that
        self.loses_next_answer = False
        # A room of so many members that their list is longer than any other answer
        self.crowded = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.next_send is not None and "/send/m.room." in request.url.path:
            answer, self.next_send = self.next_send, None
            return answer
        if self.crowded and request.url.path.endswith(f"/{self.crowded}/members"):
            return httpx.Response(200, stream=httpx.ByteStream(b" " * 9 * 1024 * 1024))
        response = await super().handle_async_request(request)
        if self.loses_next_answer and "/send/m.room." in request.url.path:
            self.loses_next_answer = False
            await response.aclose()
            raise httpx.ReadError("cut off")
        return response


class MatrixPlatform:
    """Anna and the agent, with a chat of two and a room with Bert."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})
    # What the rooms are from the beginning
    state: Sequence[Mapping[str, object]] = ()

    def __init__(self, server: Synapse, relay: Relay, folder: Path) -> None:
        self._relay = relay
        self._folder = folder
        self.transport = Troubled()
        self.http = HttpClient(self.transport)
        self.anna, self.bert = server.account("anna"), server.account("bert")
        self.agent = server.account("barnacle")
        told = {"preset": "private_chat", "initial_state": list(self.state)}
        self.chat = self.anna.make_room(self.agent.id, is_direct=True, **told)
        self.group = self.anna.make_room(self.agent.id, self.bert.id, **told)
        self.bert.call("POST", f"/join/{self.group}", {})
        self.knows: Knows = lambda _: True
        self.moved: list[tuple[str, str, str]] = []
        self.has_extra = True
        self.clock: Clock = SystemClock()
        self._txn = itertools.count(1)
        self._last: tuple[str, dict[str, object], str] = ("", {}, "")
        self.channel = self.restarted()

    def restarted(self) -> MatrixChannel:
        async def moved(*move: str) -> None:
            self.moved.append(move)

        place = ChannelContext(
            self._folder / "matrix",
            ReceivedFiles(self._folder / "inbox"),
            self.knows,
            group_moved=moved,
        )
        url = f"http://127.0.0.1:{self._relay.port}"
        api = MatrixApi(url, MatrixFixedToken(Secret(self.agent.token)), self.http)
        crypt = encryption_for(api, place.folder, self.clock) if self.has_extra else None
        return MatrixChannel(api, crypt, "mention", place, self.clock)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        named = text if not (is_group and calls) else f"{self.agent.id}: {text}"
        content: dict[str, object] = {"msgtype": "m.text", "body": named}
        await self.send(self.group if is_group else self.chat, content)

    async def write_in_thread(self, text: str) -> bool:
        root = await self.send(self.group, {"msgtype": "m.text", "body": "a topic"})
        about = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
        mentions = {"user_ids": [self.agent.id]}
        content = {"msgtype": "m.text", "body": text, "m.mentions": mentions, "m.relates_to": about}
        await self.send(self.group, content)
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        address = await asyncio.to_thread(self.anna.upload, content)
        info = {"mimetype": "application/pdf", "size": len(content)}
        told = {"body": text, "filename": "sheet.pdf", "url": address, "info": info}
        await self.send(self.chat, {"msgtype": "m.file", **told})

    async def send(self, room: str, content: dict[str, object]) -> str:
        # Who is not in a room hears nothing of it
        await until_joined(self.anna, room, self.agent.id)
        self._last = (room, content, f"m{next(self._txn)}")
        return await asyncio.to_thread(self.anna.send, *self._last)

    async def repeat(self) -> None:
        """Anna's program sends it again, as it does where it has heard no answer."""
        await asyncio.to_thread(self.anna.send, *self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        return self.said(inbound.reply_target, inbound.thread)

    def said(self, room: str, thread: str | None = None) -> list[str]:
        """What a person sees of the agent's words there, edits in their places."""
        found: dict[str, str] = {}
        for event, content in self._ours(room, "m.room.message"):
            about = content.get("m.relates_to", {})
            if about.get("rel_type") == "m.replace":
                found[about["event_id"]] = content["m.new_content"]["body"]
            elif content["msgtype"] == "m.text" and _thread(about) == thread:
                found[event] = content["body"]
        return list(found.values())

    def files(self) -> list[bytes]:
        told = [content for _, content in self._ours(self.chat, "m.room.message")]
        return [self.anna.download(one["url"]) for one in told if "url" in one]

    def marks(self) -> int:
        return len(self._ours(self.chat, "m.reaction"))

    def typings(self) -> int:
        told = self.anna.call("GET", "/sync", timeout=0)
        shown = told["rooms"]["join"][self.chat]["ephemeral"]["events"]
        typing = [one["content"]["user_ids"] for one in shown if one["type"] == "m.typing"]
        return sum(self.agent.id in one for one in typing)

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        limited = {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": int(retry_after_s * 1000)}
        broken = httpx.Response(502, stream=httpx.ByteStream(b"<html>"))
        refused = httpx.Response(429, stream=httpx.ByteStream(json.dumps(limited).encode()))
        self.transport.next_send = refused if retry_after_s else broken

    def cut_listening(self) -> None:
        self._relay.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")

    def _ours(self, room: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
        events = [one for one in self.anna.events(room) if one["sender"] == self.agent.id]
        return [(one["event_id"], one["content"]) for one in events if one["type"] == kind]


def _thread(about: dict[str, Any]) -> str | None:
    return about["event_id"] if about.get("rel_type") == "m.thread" else None
