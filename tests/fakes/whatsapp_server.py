"""WhatsApp's Cloud API on loopback, written from its documentation, and the posts that it makes.

It knows one business number and posts what people write until it is answered 200. Nothing here was
compared with the real one, which answers nobody without a business.
"""

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.canaries import secret
from tests.fakes.gateway import Answer, answer_of
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving
from tests.fakes.telegram_server import form_of
from tests.waits import wait_until

TOKEN, APP_SECRET = secret("EAAG"), secret("app-secret")
NUMBER_ID, NUMBER = "106540352242922", "15550783881"
ANNA = "4915112345678"
TRY_AGAIN_S = 0.02
MAX_TEXT, MAX_BODY, MAX_BUTTONS, MAX_TITLE = 4096, 1024, 3, 20
# Kinds of files that are taken as documents
DOCUMENTS = frozenset({"text/plain", "application/pdf"})
_PLAIN = ("to", "recipient")


@dataclass
class WhatsAppServer:
    """Serves until the block ends.

    Args:
        signs_with: what posts are signed with.
    """

    url: str = ""
    gateway_port: int = 0
    signs_with: str = APP_SECRET
    # What was sent, in order; files are by the id that they were uploaded with
    sent: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Request] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    media: dict[str, bytes] = field(default_factory=dict)
    # Where a file is said to be; here unless a test says otherwise
    media_url: str = ""
    # Files wait for it
    may_hand_out: asyncio.Event = field(default_factory=asyncio.Event)
    # What the next message meets: status, code, how long to be left alone
    fault: tuple[int, int, float] | None = None
    # A text that begins so is refused with the code that follows
    refuses: str = ""
    # To whom nothing may be written until they write again
    late: set[str] = field(default_factory=set)
    # What the gateway has answered
    answers: list[int] = field(default_factory=list)
    last: bytes = b""
    _number: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _trying: set[asyncio.Task[None]] = field(default_factory=set)

    async def say(self, text: str, person: str = ANNA) -> str:
        return await self.tell(self.message("text", person, text={"body": text}))

    def message(self, kind: str, person: str = ANNA, **more: Any) -> dict[str, Any]:
        """As it stands in a post."""
        known = f"wamid.HBgNNDkxNTExMjM0NTY3OBUCABIY{next(self._number):04}=="
        at = str(int(time.time()))
        # Since 2026 everybody has an id that is no number, too
        who = {"from": person, "from_user_id": f"DE.{person[::-1]}"}
        return {**who, "id": known, "timestamp": at, "type": kind, **more}

    async def tell(self, *messages: dict[str, Any]) -> str:
        """Post them; the id of the last."""
        self.late -= {str(one.get("from")) for one in messages}
        contacts = [_contact(one) for one in messages]
        await self.post(body_of({"contacts": contacts, "messages": list(messages)}))
        return str(messages[-1]["id"])

    async def post(self, body: bytes) -> None:
        """At once, and when that is not taken, again and again."""
        self.last = body
        if not await self._is_taken(body):
            task = asyncio.ensure_future(self._try_again(body))
            self._trying.add(task)
            task.add_done_callback(self._trying.discard)

    async def ask(
        self, method: str, target: str, body: bytes = b"", signature: str | None = None
    ) -> Answer:
        """One request to the gateway, as its log would show it."""
        told = {"host": "localhost", "content-length": str(len(body))}
        if signature is not None:
            told["x-hub-signature-256"] = signature
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in told.items())]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway_port)
        except ConnectionError:
            return Answer()
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            return await answer_of(reader)
        finally:
            writer.close()

    def signature(self, body: bytes) -> str:
        digest = hmac.new(self.signs_with.encode(), body, hashlib.sha256)
        return f"sha256={digest.hexdigest()}"

    async def aclose(self) -> None:
        for task in self._trying:
            task.cancel()
        await asyncio.gather(*self._trying, return_exceptions=True)

    async def _is_taken(self, body: bytes) -> bool:
        answer = await self.ask("POST", "/whatsapp", body, self.signature(body))
        self.answers.append(answer.status)
        return answer.status == 200

    async def _try_again(self, body: bytes) -> None:
        await wait_until(lambda: self._is_taken(body), look_s=TRY_AGAIN_S)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.calls.append(request)
            if request.target.startswith("/files/"):
                await self.may_hand_out.wait()
            status, told, retry_after_s = self._answer(request)
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(told)}"]
            if retry_after_s:
                head.append(f"retry-after: {retry_after_s:.0f}")
            writer.write("\r\n".join([*head, "", ""]).encode() + told)
            await writer.drain()

    def _answer(self, request: Request) -> tuple[int, bytes, float]:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, _error(190, "Authentication Error"), 0
        parts = urlsplit(request.target)
        _, _version, known, *rest = parts.path.split("/")
        if parts.path.startswith("/files/"):
            return 200, self.media[rest[0] if rest else known], 0
        if known in self.media:
            url = self.media_url or f"{self.url}/files/-/{known}"
            assert parse_qs(parts.query).get("phone_number_id", [NUMBER_ID]) == [NUMBER_ID]
            return 200, json.dumps(_described(known, url, self.media[known])).encode(), 0
        if known != NUMBER_ID:
            return 400, _error(100, "Unsupported get request", 33), 0
        return self._of_number(request, rest)

    def _of_number(self, request: Request, rest: list[str]) -> tuple[int, bytes, float]:
        if not rest:
            told = {"display_phone_number": "+1 555-078-3881", "verified_name": "Barnacle"}
            return 200, json.dumps({**told, "id": NUMBER_ID}).encode(), 0
        if self.fault is not None:
            (status, code, retry_after_s), self.fault = self.fault, None
            return status, _error(code, "trouble"), retry_after_s
        if rest == ["messages"] and (code := self._refused(request)):
            return 400, _error(code, "trouble"), 0
        taken = self._uploaded(request) if rest == ["media"] else self._said(request)
        return (200, json.dumps(taken).encode(), 0) if taken else (400, _error(131053, "kind"), 0)

    def _refused(self, request: Request) -> int:
        message = json.loads(request.body)
        if message.get("to") in self.late:
            return 131047
        told = str(message.get("text", {}).get("body", ""))
        is_meant = self.refuses and told.startswith(self.refuses)
        return int(told.removeprefix(self.refuses)) if is_meant else 0

    def _uploaded(self, request: Request) -> dict[str, Any]:
        form = form_of(request.headers["content-type"], request.body)
        assert form["messaging_product"] == "whatsapp"
        if form["type"] not in DOCUMENTS | {"image/png", "audio/ogg"}:
            return {}
        known = f"{next(self._number)}"
        self.uploads[known] = form["file"].content
        return {"id": known}

    def _said(self, request: Request) -> dict[str, Any]:
        told = json.loads(request.body)
        assert told.pop("messaging_product") == "whatsapp"
        if told.get("status") == "read":
            assert told["message_id"].startswith("wamid.")
            self.sent.append({"type": "read", **told})
            return {"success": True}
        assert told["recipient_type"] == "individual"
        assert any(told.get(name) for name in _PLAIN)
        _check(told[told["type"]], told["type"])
        self.sent.append(told)
        known = f"wamid.ours{next(self._number)}"
        to = told.get("to") or told.get("recipient")
        return {
            "messaging_product": "whatsapp",
            "contacts": [{"input": to, "wa_id": to}],
            "messages": [{"id": known}],
        }


def body_of(value: dict[str, Any], number_id: str = NUMBER_ID, name: str = "messages") -> bytes:
    """A post with one change."""
    told = {"display_phone_number": NUMBER, "phone_number_id": number_id}
    change = {"field": name, "value": {"messaging_product": "whatsapp", "metadata": told, **value}}
    post = {"object": "whatsapp_business_account", "entry": [{"id": "0", "changes": [change]}]}
    return json.dumps(post).encode()


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[WhatsAppServer]:
    server = WhatsAppServer()
    server.may_hand_out.set()
    async with serving(server.serve) as url:
        server.url = url
        try:
            yield server
        finally:
            await server.aclose()


def _contact(message: dict[str, Any]) -> dict[str, Any]:
    told = {"profile": {"name": "Anna"}, "user_id": message["from_user_id"]}
    # Who shows no number has none here either
    return {**told, "wa_id": message["from"]} if "from" in message else told


def _described(known: str, url: str, content: bytes) -> dict[str, Any]:
    told = {"messaging_product": "whatsapp", "id": known, "url": url, "mime_type": "x/y"}
    return {**told, "sha256": hashlib.sha256(content).hexdigest(), "file_size": len(content)}


def _check(about: dict[str, Any], kind: str) -> None:
    """The limits of the documentation."""
    if kind == "text":
        assert 0 < len(about["body"]) <= MAX_TEXT
    if kind == "interactive":
        assert len(about["body"]["text"]) <= MAX_BODY
        titles = [one["reply"]["title"] for one in about["action"]["buttons"]]
        assert len(set(titles)) == len(titles) <= MAX_BUTTONS
        assert all(len(title) <= MAX_TITLE for title in titles)


def _error(code: int, message: str, subcode: int = 0) -> bytes:
    told = {"message": message, "type": "OAuthException", "code": code, "error_subcode": subcode}
    return json.dumps({"error": {**told, "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam"}}).encode()
