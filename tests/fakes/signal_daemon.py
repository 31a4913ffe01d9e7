"""A signal-cli daemon with its HTTP interface, written from its manual (signal-cli-jsonrpc).

Serves one or several accounts to whoever asks, tells what arrives as server-sent events, and shows
what the people it wrote to would see. Faults are scripted by method, one for each call.
"""

import asyncio
import base64
import contextlib
import json
import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.http_wire import Request, pieces, read_request, write
from tests.fakes.raw_server import serving
from tests.fakes.signal_faults import BreaksOff, Fails, Fault, Hangs, Status, Waits
from tests.waits import PATIENCE_S

NUMBER = "+4915112345678"
# As long as Signal's
LINK_URI = "sgnl://linkdevice?uuid=Q2hlY2tlZC1ieS1hLXRlc3Q%3D%3D&pub_key=BQ" + "k7" * 20 + "%3D"
ACCOUNT_ID = "0e2a4f8c-5d6b-4c7a-9e1f-2b3c4d5e6f70"
_STYLE = re.compile(r"\d+:\d+:(BOLD|ITALIC|SPOILER|STRIKETHROUGH|MONOSPACE)")
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
# The newest release keeps as many
_KEPT_EVENTS = 1000


@dataclass(slots=True)
class Shown:
    """A message as the people in a chat see it."""

    text: str
    styles: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    quote: tuple[int, str, str] | None = None
    edits: int = 0
    is_deleted: bool = False
    is_voice: bool = False


@dataclass(slots=True)
class SignalDaemon:
    """The daemon.

    Args:
        is_single: started with -a: it serves one account and has no list of them.
        keep_alive_s: between two signs of life; the real one takes 15 s.
        holds_headers: releases up to 0.13 send the headers of a stream with its first byte.
        numbers_events: the newest release keeps events for whoever was cut off.
        waits_for_listeners: started with --receive-mode=on-connection: what arrives while nobody
            listens stays with Signal's servers.
        piece_bytes: in what pieces streams and files are sent.
    """

    is_single: bool = False
    keep_alive_s: float = 15.0
    holds_headers: bool = False
    numbers_events: bool = False
    waits_for_listeners: bool = True
    piece_bytes: int = 65536
    version: str = "0.13.19"
    accounts: list[dict[str, Any]] = field(default_factory=lambda: [{"number": NUMBER}])
    url: str = ""
    # Text instead of content is handed out as it is
    files: dict[str, bytes | str] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    chats: dict[str, dict[int, Shown]] = field(default_factory=lambda: defaultdict(dict))
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    # What a stream is asked with: its account, and the id it goes on after
    streams_asked: list[tuple[str, str]] = field(default_factory=list)
    # A stream that is never heard of again, as of a daemon that was stopped
    is_deaf: bool = False
    _events: list[str] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)
    _streams: set[asyncio.Queue[str | None]] = field(default_factory=set)
    _clock_ms: int = 1_800_000_000_000
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, arrival: dict[str, Any]) -> None:
        """Let something arrive for the account."""
        self._events.append(json.dumps(arrival, ensure_ascii=False, separators=(",", ":")))
        if not self._streams and self.waits_for_listeners and not self.numbers_events:
            self._waiting.append(len(self._events))
        for stream in self._streams:
            stream.put_nowait(self._event(len(self._events)))

    def tell_raw(self, text: str) -> None:
        for stream in self._streams:
            stream.put_nowait(text)

    def cut(self) -> None:
        """End every stream."""
        for stream in self._streams:
            stream.put_nowait(None)

    def fail(self, method: str, *faults: Fault) -> None:
        self.faults[method].extend(faults)

    def shown(self, target: str) -> list[Shown]:
        return [one for one in self.chats[target].values() if not one.is_deleted]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.calls if name == method]

    async def until_called(self, method: str, times: int = 1) -> list[dict[str, Any]]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.called(method)) < times:
                self._changed.clear()
                await self._changed.wait()
        return self.called(method)

    async def until_listened(self, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.streams_asked) < times:
                self._changed.clear()
                await self._changed.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            path = urlsplit(request.target).path
            if path == "/api/v1/events" and request.method == "GET":
                await self._stream(request, reader, writer)
                return
            await self._answer(path, request, writer)

    async def _answer(self, path: str, request: Request, writer: asyncio.StreamWriter) -> None:
        wanted = {"/api/v1/check": "GET", "/api/v1/rpc": "POST", "/api/v1/events": "GET"}.get(path)
        if wanted is None:
            await write(writer, 404, b"<h1>404 Not Found</h1>", "text/html")
        elif request.method != wanted:
            await write(writer, 405)
        elif path == "/api/v1/check":
            await write(writer, 200)
        elif not request.headers.get("content-type", "").startswith("application/json"):
            await write(writer, 415)
        else:
            await self._call(request.body, writer)

    async def _call(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        asked = _parsed(body)
        method = asked.get("method") if isinstance(asked, dict) else None
        fault = self.faults[method].popleft() if method and self.faults[method] else None
        if isinstance(fault, Hangs):
            self._note(asked)
            await asyncio.Event().wait()
        if isinstance(fault, Waits):
            await fault.over.wait()
            fault = fault.then
        if isinstance(fault, Status):
            await write(writer, fault.status, b"<h1>no</h1>", "text/html")
            return
        if isinstance(fault, BreaksOff):
            if fault.is_done:
                self._answered(asked, None)
            raise ConnectionError
        answers = [self._answered(one, fault) for one in (asked if _is_batch(asked) else [asked])]
        told = [answer for answer in answers if answer is not None]
        if not told:
            await write(writer, 201)
            return
        content = _json(told if _is_batch(asked) else told[0])
        await write(writer, 200, content, "application/json", self.piece_bytes)

    def _answered(self, asked: Any, fault: Fails | None) -> dict[str, Any] | None:
        """The answer to one request; None where none is wanted."""
        if isinstance(asked, _Unparsed):
            return _error(asked.code, asked.message, None)
        if not isinstance(asked, dict) or not asked.get("method"):
            return _error(-32600, "method field must be set", None)
        method, parameters = self._note(asked)
        known = asked.get("id")
        try:
            result = self._result(method, parameters, fault)
        except _RefusedError as err:
            return {"jsonrpc": "2.0", "error": err.error, "id": known}
        return None if known is None else {"jsonrpc": "2.0", "result": result, "id": known}

    def _note(self, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        call = asked["method"], dict(asked.get("params") or {})
        self.calls.append(call)
        self._changed.set()
        return call

    def _result(self, method: str, parameters: dict[str, Any], fault: Fails | None) -> Any:
        if fault is not None:
            raise _RefusedError(fault.error)
        if method == "version":
            return {"version": self.version}
        if method in {"listAccounts", "startLink", "finishLink"} and not self.is_single:
            return self._of_all_accounts(method, parameters)
        handler = {
            "send": self._send,
            "remoteDelete": self._remote_delete,
            "getAttachment": self._get_attachment,
            "sendTyping": self._courtesy,
            "sendReaction": self._courtesy,
            "sendReceipt": self._courtesy,
        }.get(method)
        if handler is None:
            raise _RefusedError.of(-32601, "Method not implemented")
        account = parameters.pop("account", None)
        if not self.is_single and account is None:
            raise _RefusedError.of(-32602, "Method requires valid account parameter")
        if not self.is_single and not self._has(account):
            raise _RefusedError.of(-32602, "Specified account does not exist")
        return handler(parameters)

    def _of_all_accounts(self, method: str, parameters: dict[str, Any]) -> Any:
        if method == "listAccounts":
            return self.accounts
        if method == "startLink":
            return {"deviceLinkUri": LINK_URI}
        if not parameters.get("deviceLinkUri", "").startswith("sgnl://"):
            raise _RefusedError.of(-1, "Invalid device link uri.")
        self.accounts.append({"number": NUMBER})
        return {"number": NUMBER}

    def _has(self, account: Any) -> bool:
        return any(account in one.values() for one in self.accounts)

    def _send(self, parameters: dict[str, Any]) -> Any:
        target = _target(parameters)
        text, files = parameters.get("message") or "", parameters.get("attachments") or []
        styles = parameters.get("textStyle") or []
        if not text and not files:
            raise _RefusedError.of(-1, "Sending empty message is not allowed")
        if not all(_STYLE.fullmatch(style) for style in styles):
            raise _RefusedError.of(-1, "Invalid textStyle syntax")
        self._clock_ms += 1
        timestamp = self._clock_ms
        if edited := parameters.get("editTimestamp"):
            message = self.chats[target].get(edited)
            # Nobody sees an edit of a message that is not there
            if message is not None:
                message.text, message.styles = text, tuple(styles)
                message.edits += 1
        else:
            quote = None
            if "quoteTimestamp" in parameters:
                names = ("quoteTimestamp", "quoteAuthor", "quoteMessage")
                quote = tuple(parameters[name] for name in names)
            shown = Shown(text, tuple(styles), tuple(files), quote)
            shown.is_voice = parameters.get("voiceNote") is True
            self.chats[target][timestamp] = shown
        return {"timestamp": timestamp, "results": [_success(parameters)]}

    def _remote_delete(self, parameters: dict[str, Any]) -> Any:
        message = self.chats[_target(parameters)].get(parameters.get("targetTimestamp"))
        if message is not None:
            message.is_deleted = True
        self._clock_ms += 1
        return {"timestamp": self._clock_ms, "results": [_success(parameters)]}

    def _get_attachment(self, parameters: dict[str, Any]) -> Any:
        content = self.files.get(parameters.get("id", ""))
        if content is None:
            raise _RefusedError.of(-1, "Could not find attachment")
        is_raw = isinstance(content, str)
        return {"data": content if is_raw else base64.b64encode(content).decode()}

    def _courtesy(self, parameters: dict[str, Any]) -> Any:
        return {"timestamp": self._clock_ms, "results": [_success(parameters)]}

    async def _stream(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        account = parse_qs(urlsplit(request.target).query).get("account", [""])[0]
        after = request.headers.get("last-event-id", "")
        self.streams_asked.append((account, after))
        if account and not self.is_single and not self._has(account):
            self._changed.set()
            await write(writer, 400)
            return
        stream: asyncio.Queue[str | None] = asyncio.Queue()
        for number in (*self._waiting, *self._missed(after)):
            stream.put_nowait(self._event(number))
        self._waiting.clear()
        self._streams.add(stream)
        self._changed.set()
        # The real one notices only with its next sign of life
        leaving = asyncio.create_task(reader.read())
        leaving.add_done_callback(lambda _: self._streams.discard(stream))
        leaving.add_done_callback(lambda _: stream.put_nowait(None))
        try:
            await self._keep_telling(stream, writer)
        finally:
            leaving.cancel()

    async def _keep_telling(
        self, stream: "asyncio.Queue[str | None]", writer: asyncio.StreamWriter
    ) -> None:
        head = _STREAM_HEAD
        if not self.holds_headers:
            writer.write(head)
            head = b""
        while True:
            try:
                text = await asyncio.wait_for(stream.get(), self.keep_alive_s)
            except TimeoutError:
                text = ":\n"
            if text is None:
                writer.write(head + b"0\r\n\r\n")
                return
            if self.is_deaf:
                continue
            writer.write(head)
            head = b""
            for piece in pieces(text.encode(), self.piece_bytes):
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()

    def _missed(self, after: str) -> range:
        if not self.numbers_events or not after:
            return range(0)
        last = int(after) if after.isdigit() and int(after) <= len(self._events) else 0
        return range(max(last, len(self._events) - _KEPT_EVENTS) + 1, len(self._events) + 1)

    def _event(self, number: int) -> str:
        known = f"id:{number}\n" if self.numbers_events else ""
        return f"{known}event:receive\ndata:{self._events[number - 1]}\n\n"


@contextlib.asynccontextmanager
async def running(daemon: SignalDaemon, port: int = 0) -> AsyncIterator[SignalDaemon]:
    """The daemon at `daemon.url`."""
    async with serving(daemon.serve, port) as daemon.url:
        yield daemon


@dataclass(frozen=True, slots=True)
class _Unparsed:
    code: int
    message: str


class _RefusedError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error

    @classmethod
    def of(cls, code: int, message: str) -> "_RefusedError":
        return cls({"code": code, "message": message, "data": None})


def _parsed(body: bytes) -> Any:
    if not body.strip():
        return _Unparsed(-32600, "unexpected type: MISSING")
    try:
        return json.loads(body)
    except ValueError as err:
        return _Unparsed(-32700, str(err))


def _is_batch(asked: Any) -> bool:
    return isinstance(asked, list)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _error(code: int, message: str, known: Any) -> dict[str, Any]:
    error = {"code": code, "message": message, "data": None}
    return {"jsonrpc": "2.0", "error": error, "id": known}


def _target(parameters: dict[str, Any]) -> str:
    if group := parameters.get("groupId"):
        return f"group.{group}"
    recipient = parameters.get("recipient")
    if isinstance(recipient, list) and len(recipient) == 1:
        return str(recipient[0])
    if isinstance(recipient, str):
        return recipient
    raise _RefusedError.of(-1, "No recipients given")


def _success(parameters: dict[str, Any]) -> dict[str, Any]:
    group = {"groupId": parameters["groupId"]} if "groupId" in parameters else {}
    address = {"uuid": "a person", "number": None}
    return {"recipientAddress": address, **group, "type": "SUCCESS"}
