"""The calls to a Matrix homeserver, and what its refusals mean for whoever called.

The only module that knows addresses; the token is never part of an error.
"""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from agent.config import Secret
from agent.errors import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    MessageRefused,
    NetworkError,
)
from agent.http import HttpAnswer, HttpClient, HttpRequest
from agent.printable import printable_line

# A server answers in a fraction of it
CALL_TIMEOUT_S = 15.0
# What the server waits for something to happen, and the time of its answer's way
HOLD_MS = 30_000
SYNC_TIMEOUT_S = HOLD_MS / 1000 + CALL_TIMEOUT_S
# A large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# A hundred events of the largest kind are below it
MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_REASON_CHARS = 200
# Where the server does not say how long
DEFAULT_RETRY_S = 5.0
MAX_RETRY_S = 3600.0
# Server and file: neither has a character that leads to another address
_MEDIA = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_=-]{1,255})")
_OK, _BAD, _UNAUTHORIZED, _NOT_FOUND, _TOO_MANY, _SERVER_ERRORS = 200, 400, 401, 404, 429, 500
_CLIENT = "/_matrix/client/v3"


class MatrixRefused(MessageRefused):
    """The server understood a request and will not do it."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(f"the Matrix server refused ({status} {code}{reason and f': {reason}'})")
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    retry_after: str
    told: dict[str, Any]


class MatrixApi:
    """One account on its homeserver."""

    def __init__(self, base_url: str, token: Secret, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self._token = token
        self._http = http

    async def whoami(self) -> str:
        """The account that the token belongs to.

        Raises:
            ChannelError: the token is none, or there is no Matrix server.
        """
        try:
            told = await self.call("GET", "/account/whoami")
        except MatrixRefused as err:
            raise ChannelRefused(f"{err}: look at channels.matrix.base_url and token") from err
        account = told.get("user_id")
        if not isinstance(account, str) or not account.startswith("@"):
            raise ChannelRefused("no Matrix server answers at channels.matrix.base_url")
        return account

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        **query: str | int,
    ) -> dict[str, Any]:
        """The answer's object; each part of `path` has gone through `quoted`.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            MatrixRefused: this request is not granted.
        """
        content = b"" if body is None else encoded(body)
        headers = self._headers() | ({} if body is None else {"content-type": "application/json"})
        asked = f"?{urlencode(query)}" if query else ""
        is_held = path == "/sync"
        url = f"{self._base_url}{_CLIENT}{path}{asked}"
        request = HttpRequest(method, url, headers, content, is_held_open=is_held)
        return await self._result(request, SYNC_TIMEOUT_S if is_held else CALL_TIMEOUT_S)

    async def upload(self, name: str, kind: str, content: AsyncIterable[bytes], size: int) -> str:
        """The address of a file that the server has from now on."""
        headers = self._headers() | {"content-type": kind, "content-length": str(size)}
        url = f"{self._base_url}/_matrix/media/v3/upload?{urlencode({'filename': name})}"
        told = await self._result(HttpRequest("POST", url, headers, content), UPLOAD_TIMEOUT_S)
        return str(told.get("content_uri", ""))

    @asynccontextmanager
    async def download(self, address: str) -> AsyncIterator[HttpAnswer]:
        """A file.

        Raises:
            ChannelUnavailable: it is not to be had now.
        """
        found = _MEDIA.fullmatch(address)
        if found is None:
            raise ChannelUnavailable("it has no address that can be used")
        path = f"/_matrix/client/v1/media/download/{found[1]}/{found[2]}"
        request = HttpRequest("GET", f"{self._base_url}{path}", self._headers())
        try:
            async with self._http.exchange(request, CALL_TIMEOUT_S) as answer:
                if answer.status != _OK:
                    raise ChannelUnavailable(f"the server answered {answer.status}")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token.reveal()}"}

    async def _result(self, request: HttpRequest, timeout_s: float) -> dict[str, Any]:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                told = _object(await _content(answer))
                reply = _Reply(answer.status, answer.header("retry-after"), told)
        except NetworkError as err:
            raise ChannelUnavailable(f"Matrix: {err}") from err
        if reply.status == _OK:
            return reply.told
        raise _trouble(reply)


def quoted(part: str) -> str:
    """A part of a path, whatever signs are in it."""
    return quote(part, safe="", errors="replace")


def encoded(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


async def _content(answer: HttpAnswer) -> bytes:
    content = bytearray()
    while piece := await answer.read():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ChannelUnavailable("the Matrix server sent an answer that is too long")
    return bytes(content)


def _object(content: bytes) -> dict[str, Any]:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _trouble(reply: _Reply) -> ChannelError:
    code = printable_line(str(reply.told.get("errcode") or ""), MAX_REASON_CHARS)
    reason = printable_line(str(reply.told.get("error") or ""), MAX_REASON_CHARS)
    if reply.status == _TOO_MANY:
        wait_s = _wait_s(reply)
        text = f"the Matrix server asks to be left alone for {wait_s:.0f} s"
        return ChannelUnavailable(text, retry_after_s=wait_s)
    if reply.status >= _SERVER_ERRORS:
        return ChannelUnavailable(f"the Matrix server is in trouble ({reply.status} {reason})")
    if reply.status == _UNAUTHORIZED:
        return ChannelRefused(_unknown(is_soft=reply.told.get("soft_logout") is True))
    if code == "M_USER_DEACTIVATED":
        return ChannelRefused("the Matrix account of channels.matrix was deactivated")
    return MatrixRefused(reply.status, code, reason)


def _unknown(*, is_soft: bool) -> str:
    if is_soft:
        return (
            "the Matrix server has let this login lapse (soft logout): log in again with the same "
            "device and put the new token into channels.matrix"
        )
    return (
        "the Matrix server does not know this token: log in again and put the new one into "
        "channels.matrix.token_file"
    )


def _wait_s(reply: _Reply) -> float:
    told = reply.told.get("retry_after_ms")
    if isinstance(told, int | float) and not isinstance(told, bool) and told > 0:
        return min(told / 1000, MAX_RETRY_S)
    after = reply.retry_after
    is_number = after.isascii() and after.isdigit() and len(after) < 10  # noqa: PLR2004 - no huge ints
    return min(float(after), MAX_RETRY_S) if is_number else DEFAULT_RETRY_S
