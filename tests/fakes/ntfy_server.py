"""An ntfy server on loopback, written from its documentation: topics, a cache, files, and faults.

The real one is a program in Go that no archive of Debian has; nothing here was compared with it.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving

TOKEN = secret("tk_ntfy")
MAX_MESSAGE_BYTES = 4096
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass
class NtfyServer:
    """Serves until the block ends.

    Args:
        is_closed: topics are for those with the token.
        keep_alive_s: between two signs of life; the real one takes 45 s.
    """

    is_closed: bool = False
    keep_alive_s: float = 45.0
    url: str = ""
    cache: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    # What the next publication meets: status, code, and how long to be left alone
    fault: tuple[int, int, float] | None = None
    calls: list[Request] = field(default_factory=list)
    # Until then no file is handed out
    may_hand_out: asyncio.Event = field(default_factory=asyncio.Event)
    # How often somebody has begun to listen
    opened: int = 0
    _streams: set[asyncio.StreamWriter] = field(default_factory=set)

    def publish(self, topic: str, message: str, **more: Any) -> dict[str, Any]:
        """As anybody does; the event."""
        known = secrets.token_hex(6)
        told = {"id": known, "time": int(time.time()), "event": "message", "topic": topic}
        event = {**told, "message": message, **more}
        self.cache.append(event)
        self.tell(event)
        return event

    def tell(self, event: dict[str, Any]) -> None:
        """To everybody who listens."""
        for stream in self._streams:
            stream.write(_chunk(json.dumps(event).encode() + b"\n"))

    def cut(self) -> None:
        for stream in self._streams:
            stream.transport.abort()

    def put_file(self, content: bytes, suffix: str = ".pdf") -> str:
        path = f"/file/{secrets.token_hex(6)}{suffix}"
        self.files[path] = content
        return f"{self.url}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.calls.append(request)
            parts = urlsplit(request.target)
            if parts.path.endswith("/json"):
                await self._stream(parts.path[1:-5], parse_qs(parts.query), request, writer)
                return
            if parts.path in self.files:
                await self.may_hand_out.wait()
            status, told, retry_after_s = self._answer(request, parts.path)
            head = [f"HTTP/1.1 {status} -", f"content-length: {len(told)}"]
            if retry_after_s:
                head.append(f"retry-after: {retry_after_s:.0f}")
            writer.write("\r\n".join([*head, "", ""]).encode() + told)
            await writer.drain()

    def _answer(self, request: Request, path: str) -> tuple[int, bytes, float]:
        if path.startswith("/file/"):
            content = self.files.get(path)
            return (
                (404, _error(40401, "page not found"), 0) if content is None else (200, content, 0)
            )
        if not self._may(request):
            return 403, _error(40301, "forbidden"), 0
        if path == "/v1/account":
            return 200, json.dumps({"username": "barnacle", "role": "user"}).encode(), 0
        if path.endswith("/auth"):
            return 200, b'{"success":true}', 0
        if self.fault is not None:
            (status, code, retry_after_s), self.fault = self.fault, None
            return status, _error(code, "limit reached"), retry_after_s
        return 200, json.dumps(self._published(request, path)).encode(), 0

    def _published(self, request: Request, path: str) -> dict[str, Any]:
        if name := request.headers.get("filename"):
            url = self.put_file(request.body, "")
            file = {"name": name, "url": url, "size": len(request.body)}
            tags = request.headers.get("tags", "").split(",")
            return self.publish(
                path[1:], f"You received a file: {name}", attachment=file, tags=tags
            )
        if path == "/":
            told = json.loads(request.body)
            assert len(told["message"].encode()) <= MAX_MESSAGE_BYTES
            return self.publish(told.pop("topic"), told.pop("message"), **told)
        return self.publish(path[1:], request.body.decode())

    def _may(self, request: Request) -> bool:
        return not self.is_closed or request.headers.get("authorization") == f"Bearer {TOKEN}"

    async def _stream(
        self,
        topic: str,
        query: dict[str, list[str]],
        request: Request,
        writer: asyncio.StreamWriter,
    ) -> None:
        if not self._may(request):
            told = _error(40301, "forbidden")
            writer.write(f"HTTP/1.1 403 -\r\ncontent-length: {len(told)}\r\n\r\n".encode() + told)
            return
        writer.write(_STREAM_HEAD)
        opened = {"id": secrets.token_hex(6), "time": int(time.time()), "event": "open"}
        events = [opened, *self._since(topic, query.get("since", [""])[0])]
        writer.write(_chunk(b"".join(json.dumps(one).encode() + b"\n" for one in events)))
        self._streams.add(writer)
        self.opened += 1
        try:
            while not writer.is_closing():
                await asyncio.sleep(self.keep_alive_s)
                writer.write(_chunk(b'{"event":"keepalive"}\n'))
        finally:
            self._streams.discard(writer)

    def _since(self, topic: str, since: str) -> list[dict[str, Any]]:
        kept = [one for one in self.cache if one["topic"] == topic]
        if not since:
            return []
        if since.isdigit() and len(since) == 10:
            return [one for one in kept if one["time"] >= int(since)]
        ids = [one["id"] for one in kept]
        return kept[ids.index(since) + 1 :] if since in ids else kept


@contextlib.asynccontextmanager
async def running(server: NtfyServer, port: int = 0) -> AsyncIterator[NtfyServer]:
    server.may_hand_out.set()
    async with serving(server.serve, port) as url:
        server.url = url
        yield server


def _chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def _error(code: int, text: str) -> bytes:
    return json.dumps({"code": code, "http": code // 100, "error": text}).encode()
