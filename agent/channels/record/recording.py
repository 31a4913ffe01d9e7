"""Recording of a platform: its channel listens, and nothing of it reaches the agent.

A cassette is a file with what the platform sent, one line of JSON each: `answer` lines are answers
to our requests, `frame` lines come over a WebSocket, `post` lines by the gateway, and `heard` lines
are what the agent understood of them, by which a replay is checked. A `table` line has the ids of
the configuration, by which a channel knows what is for it.
"""

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from agent.channels import websocket
from agent.channels.platform import Platform, PlatformContext
from agent.channels.push import ChallengedReceiver, PushAnswer, PushReceiver, PushRequest
from agent.channels.record.pseudonyms import Pseudonyms, known_words
from agent.channels.settings import ChannelsSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Inbound
from agent.net.http import (
    BETWEEN_BYTES_TIMEOUT_S,
    FIRST_BYTE_TIMEOUT_S,
    HttpAnswer,
    HttpClient,
    HttpRequest,
)
from agent.security.redact import Redactor
from agent.system.clock import SystemClock

# A longer answer is a file, and nobody's to keep
MAX_BODY_BYTES = 256 * 1024
# A day of a busy group; a recording is for minutes
MAX_LINES = 2000
_FORM = "application/x-www-form-urlencoded"

# Opens the gateway for one receiver, with its files in a folder, and serves until cancelled
Serve = Callable[[PushReceiver, Path], Awaitable[None]]


class CassetteWriter:
    """Writer of a cassette; what is no JSON is only counted.

    Args:
        redact: takes the secrets out before anything else is looked at.
    """

    def __init__(self, path: Path, names: Pseudonyms, redact: Callable[[str], str]) -> None:
        self._path = path
        self._names = names
        self._redact = redact
        self.lines = 0
        self.skipped = 0

    def answer(self, method: str, url: str, status: int, body: bytes) -> None:
        place = self._names.of_path(urlsplit(self._redact(url)).path)
        about = {"method": method, "path": place, "status": status}
        for piece in _pieces(body):
            if (told := self._data(piece)) is not None:
                self._write({"answer": told, **about})

    def frame(self, frame: str | bytes) -> None:
        told = self._data(frame if isinstance(frame, bytes) else frame.encode())
        if told is not None:
            self._write({"frame": told})

    def post(self, path: str, push: PushRequest, status: int) -> None:
        """Write a post; of its headers the names alone, as one of them proves who it is from."""
        kind = push.headers.get("content-type", "").partition(";")[0].strip().lower()
        about = {"path": path, "headers": sorted(push.headers), "status": status}
        if kind == _FORM:
            fields = parse_qs(self._redact(push.body.decode(errors="replace")))
            told = {name: self._names.of(values[0], name) for name, values in fields.items()}
            self._write({"post": told, "form": True, **about})
        elif (told_json := self._data(push.body)) is not None:
            self._write({"post": told_json, "form": False, **about})

    def table(self, ids: Mapping[str, str]) -> None:
        if ids:
            self._write({"table": self._names.of(dict(ids))})

    def heard(self, message: Inbound) -> None:
        told = {"text": message.text, "sender": message.sender, "target": message.reply_target}
        shown = {name: self._names.of_text(self._redact(one)) for name, one in told.items()}
        self._write({"heard": {**shown, "files": len(message.attachments)}})

    def _data(self, raw: bytes) -> object:
        try:
            told = json.loads(self._redact(raw.decode()))
        except (ValueError, RecursionError):
            self.skipped += 1
            return None
        return self._names.of(told)

    def _write(self, line: dict[str, object]) -> None:
        if self.lines >= MAX_LINES:
            self.skipped += 1
            return
        self.lines += 1
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")


class RecordedAnswer(HttpAnswer):
    """Answer that is written down while it is read."""

    def __init__(self, inner: HttpAnswer) -> None:
        self.status, self.host = inner.status, inner.host
        self._inner = inner
        self.body = bytearray()

    def header(self, name: str) -> str:
        return self._inner.header(name)

    async def read(self, timeout_s: float = BETWEEN_BYTES_TIMEOUT_S) -> bytes:
        piece = await self._inner.read(timeout_s)
        if len(self.body) <= MAX_BODY_BYTES:
            self.body += piece
        return piece


class RecordingClient(HttpClient):
    """HTTP client that writes down what is answered."""

    def __init__(self, cassette: CassetteWriter) -> None:
        super().__init__()
        self._cassette = cassette

    @contextlib.asynccontextmanager
    async def exchange(
        self, request: HttpRequest, first_byte_timeout_s: float = FIRST_BYTE_TIMEOUT_S
    ) -> AsyncIterator[HttpAnswer]:
        async with super().exchange(request, first_byte_timeout_s) as inner:
            answer = RecordedAnswer(inner)
            try:
                yield answer
            finally:
                if len(answer.body) <= MAX_BODY_BYTES:
                    body = bytes(answer.body)
                    self._cassette.answer(request.method, request.url, answer.status, body)


class RecordedReceiver:
    """Receiver that writes down what is posted, if it is the platform that posts."""

    def __init__(self, inner: PushReceiver, cassette: CassetteWriter) -> None:
        self._inner = inner
        self._cassette = cassette

    @property
    def path(self) -> str:
        return self._inner.path

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return self._inner.refusal(headers)

    async def push(self, push: PushRequest) -> PushAnswer:
        answered = await self._inner.push(push)
        if not answered.is_forged:
            self._cassette.post(self.path, push, answered.status)
        return answered


class RecordedChallenges(RecordedReceiver):
    """Receiver whose platform checks the address first, which is not written down."""

    def __init__(self, inner: ChallengedReceiver, cassette: CassetteWriter) -> None:
        super().__init__(inner, cassette)
        self.challenge = inner.challenge


def _pieces(body: bytes) -> list[bytes]:
    """Return the documents of a body: one, or a stream with one in each line."""
    lines = [line.removeprefix(b"data:").strip() for line in body.splitlines()]
    documents = [line for line in lines if line.startswith((b"{", b"["))]
    is_stream = len(documents) > 1 and all(line.endswith((b"}", b"]")) for line in documents)
    return documents if is_stream else [body]


class RecordingPaths(Struct, frozen=True):
    """A folder of the recording's own: the agent's place at the platform stays what it is."""

    state_dir: Path

    @property
    def inbox(self) -> Path:
        return self.state_dir / "inbox"

    @property
    def workspace(self) -> Path:
        return self.state_dir / "workspace"

    @property
    def webhook_db(self) -> Path:
        return self.state_dir / "webhook.db"


async def record(
    platform: Platform,
    channels: ChannelsSettings,
    cassette: Path,
    duration_s: float,
    told: Callable[[str], None],
    serve: Serve | None = None,
) -> CassetteWriter:
    """Listen for so long, and return the writer with its counts.

    Args:
        serve: for a platform that posts to the gateway.

    Raises:
        ConfigRefused: the platform cannot be used as it is configured, or needs a gateway.
        ChannelError: the platform cannot be reached, or refuses.
    """
    if platform.comes_by_gateway(channels, os.environ) and serve is None:
        raise ConfigRefused(f"{platform.name} posts to the gateway: add a [gateway] table")
    words = await asyncio.to_thread(known_words, platform.name)
    writer = CassetteWriter(
        cassette, Pseudonyms(words), _redactor(platform.secrets(channels, os.environ)).redact
    )
    http = RecordingClient(writer)

    async def heard(message: Inbound) -> None:
        writer.heard(message)
        told(f"message recorded (line {writer.lines} of the file)")

    with tempfile.TemporaryDirectory(prefix="barnacle-record-") as folder:
        reach = PlatformContext(RecordingPaths(Path(folder)), os.environ, http, SystemClock())
        channel = platform.open(channels, reach)
        try:
            with websocket.tapped(_tap(platform.name, writer)), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(duration_s):
                    if serve is None or not isinstance(channel, PushReceiver):
                        await channel.listen(heard)
                    else:
                        writer.table(_ids(getattr(channels, platform.name)))
                        serving = serve(_recorded(channel, writer), Path(folder))
                        await _until_one_ends(channel.listen(heard), serving)
        finally:
            await channel.aclose()
            await http.aclose()
    return writer


def _recorded(receiver: PushReceiver, writer: CassetteWriter) -> RecordedReceiver:
    if isinstance(receiver, ChallengedReceiver):
        return RecordedChallenges(receiver, writer)
    return RecordedReceiver(receiver, writer)


def _ids(table: object) -> dict[str, str]:
    """Return what the platform's table names by an id: no secret, and no address."""
    told = {name: getattr(table, name) for name in getattr(table, "__struct_fields__", ())}
    return {name: one for name, one in told.items() if name.endswith("_id") and one}


async def _until_one_ends(*works: Awaitable[None]) -> None:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _tap(name: str, writer: CassetteWriter) -> websocket.Tap:
    """Return what takes the frames; of Lark's, which are no JSON, the payload."""
    if name != "lark":
        return writer.frame
    from agent.channels.lark.frames import LarkFrameError, decode  # noqa: PLC0415 - of one platform

    def unpacked(frame: str | bytes) -> None:
        with contextlib.suppress(LarkFrameError):
            payload = decode(frame if isinstance(frame, bytes) else frame.encode()).payload
            writer.frame(payload or b"")

    return unpacked


def _redactor(secrets: Iterable[Secret]) -> Redactor:
    redactor = Redactor()
    for secret in secrets:
        redactor.add(secret)
    return redactor
