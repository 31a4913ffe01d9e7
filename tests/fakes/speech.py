"""A service that writes down and speaks: answers what it is told to, keeps what it was sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tests.fakes.llm_server import Reply
from tests.fakes.raw_server import serving
from tests.fakes.telegram_methods import Upload
from tests.fakes.telegram_server import form_of


@dataclass(frozen=True)
class Heard:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    fields: dict[str, object]
    name: str
    content: bytes


@dataclass
class SpeechService:
    """Serves until the block ends."""

    reply: Reply
    requests: list[Heard] = field(default_factory=list)
    base_url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (ln.partition(": ") for ln in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        path = first.split(" ")[1]
        if headers["content-type"] == "application/json":
            self.requests.append(Heard(path, headers, {}, "", body))
        else:
            fields = form_of(headers["content-type"], body)
            file = fields.pop("file")
            assert isinstance(file, Upload)
            self.requests.append(Heard(path, headers, fields, file.name, file.content))
        told = f"HTTP/1.1 {self.reply.status} X\r\nContent-Type: {self.reply.content_type}\r\n"
        length = f"Content-Length: {len(self.reply.body)}\r\nConnection: close\r\n\r\n"
        writer.write((told + length).encode() + self.reply.body)
        await writer.drain()


@contextlib.asynccontextmanager
async def speech_service(reply: Reply) -> AsyncIterator[SpeechService]:
    service = SpeechService(reply)
    async with serving(service.serve) as url:
        service.base_url = f"{url}/v1"
        yield service
