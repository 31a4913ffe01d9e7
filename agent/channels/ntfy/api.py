"""The calls to an ntfy server, and what its refusals mean for whoever called.

The only module that knows addresses; the token is never part of an error.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import msgspec

from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, NetworkError
from agent.http import HttpAnswer, HttpClient, HttpRequest
from agent.printable import printable_line

# A server answers in a fraction of it
CALL_TIMEOUT_S = 15.0
# A file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# An answer is one message
MAX_ANSWER_BYTES = 64 * 1024
# Where a server does not say how long; one request is granted every 5 s
DEFAULT_RETRY_S = 5.0
# A day's messages are used up: they come back during the day
QUOTA_RETRY_S = 900.0
MAX_RETRY_S = 3600.0
MAX_REASON_CHARS = 200
# Its own files, whatever name the server thinks that it has
_FILE = re.compile(r"/file/[-_A-Za-z0-9]{1,64}(?:\.[A-Za-z0-9]{1,16})?")
_OK, _TOO_MANY, _TOO_LARGE, _NOT_FOUND = 200, 429, 413, 404
_NOT_OURS = frozenset({401, 403})
_SERVER_ERRORS = 500
# A code of the server beside the status of HTTP: the messages of a day
_QUOTA = 42908


class Refusal(msgspec.Struct, frozen=True):
    """What a server says of an error."""

    code: int = 0
    error: str = ""


class NtfyApi:
    """One topic of one server."""

    def __init__(self, base_url: str, topic: str, token: Secret, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self.topic = topic
        self._token = token
        self._http = http

    @property
    def url(self) -> str:
        return f"{self._base_url}/{self.topic}"

    @property
    def is_open(self) -> bool:
        """Whether anybody who knows the topic may write there, buttons on a telephone too."""
        return not self._token

    async def publish(self, message: Mapping[str, object]) -> None:
        """Return when the server has it.

        Raises:
            ChannelError: it has not.
        """
        content = json.dumps({"topic": self.topic, **message}, ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        await self._call(HttpRequest("POST", self._base_url, self._headers(), content))

    async def upload(
        self, headers: Mapping[str, str], content: AsyncIterator[bytes], size_bytes: int
    ) -> None:
        """The same of a file."""
        told = {**self._headers(), **headers, "content-length": str(size_bytes)}
        await self._call(HttpRequest("PUT", self.url, told, content), UPLOAD_TIMEOUT_S)

    async def account(self) -> str:
        """Who we are there; empty where we are nobody in particular."""
        if self._token:
            told = await self._call(self._get(f"{self._base_url}/v1/account"))
            return _name_in(told)
        return ""

    async def may_read(self) -> None:
        """Raises what the server says of somebody who may not."""
        await self._call(self._get(f"{self.url}/auth"))

    @asynccontextmanager
    async def stream(self, since: str) -> AsyncIterator[HttpAnswer]:
        """What is written from now on, and what was since then.

        Raises:
            ChannelError: the server does not let us hear, or is not there.
        """
        after = f"?since={since}" if since else ""
        headers = self._headers()
        request = HttpRequest("GET", f"{self.url}/json{after}", headers, is_held_open=True)
        async with self._exchange(request, CALL_TIMEOUT_S) as answer:
            yield answer

    @asynccontextmanager
    async def file(self, url: str) -> AsyncIterator[HttpAnswer]:
        """A file that somebody put on this server.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        request = HttpRequest("GET", f"{self._base_url}{path_of(url)}", self._headers())
        async with self._exchange(request, CALL_TIMEOUT_S) as answer:
            yield answer

    def _get(self, url: str) -> HttpRequest:
        return HttpRequest("GET", url, self._headers())

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token.reveal()}"} if self._token else {}

    async def _call(self, request: HttpRequest, timeout_s: float = CALL_TIMEOUT_S) -> bytes:
        async with self._exchange(request, timeout_s) as answer:
            return await _content(answer)

    @asynccontextmanager
    async def _exchange(self, request: HttpRequest, timeout_s: float) -> AsyncIterator[HttpAnswer]:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                if answer.status != _OK:
                    raise await self._trouble(answer)
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(f"ntfy: {err}") from err

    async def _trouble(
        self, answer: HttpAnswer
    ) -> ChannelRefused | ChannelUnavailable | MessageRefused:
        refusal = _refusal(await _content(answer))
        reason = printable_line(refusal.error, MAX_REASON_CHARS)
        said = f"{answer.host} answered {answer.status}{f' ({reason})' if reason else ''}"
        if answer.status in _NOT_OURS:
            return ChannelRefused(
                f"{said}: the topic {self.topic} is not ours to use so; look at channels.ntfy.token"
            )
        if answer.status == _NOT_FOUND:
            return ChannelRefused(f"{said}: look at channels.ntfy.base_url and topic")
        if answer.status == _TOO_MANY:
            usual_s = QUOTA_RETRY_S if refusal.code == _QUOTA else DEFAULT_RETRY_S
            retry_after_s = _seconds(answer.header("retry-after")) or usual_s
            return ChannelUnavailable(said, retry_after_s=retry_after_s)
        if answer.status >= _SERVER_ERRORS:
            return ChannelUnavailable(said)
        return MessageRefused(said)


def path_of(url: str) -> str:
    """Where on its own server a file is; empty where it is somewhere else."""
    path = urlsplit(url).path
    return path if _FILE.fullmatch(path) else ""


async def _content(answer: HttpAnswer) -> bytes:
    content = b""
    while (piece := await answer.read()) and len(content) < MAX_ANSWER_BYTES:
        content += piece
    return content


def _refusal(content: bytes) -> Refusal:
    try:
        return msgspec.json.decode(content, type=Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Refusal()


def _name_in(content: bytes) -> str:
    try:
        told = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    name = told.get("username") if isinstance(told, dict) else ""
    return printable_line(name, 64) if isinstance(name, str) else ""


def _seconds(told: str) -> float:
    is_number = told.isascii() and told.isdigit() and len(told) < 10  # noqa: PLR2004 - no huge ints
    return min(float(told), MAX_RETRY_S) if is_number else 0.0
