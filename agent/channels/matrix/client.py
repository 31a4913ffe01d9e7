"""Client of a Matrix homeserver, and the meaning of its refusals.

The only module that knows addresses; the token is never part of an error.
"""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from agent.channels import rest
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

# What the server waits for something to happen, and the time of its answer's way
HOLD_MS = 30_000
SYNC_TIMEOUT_S = HOLD_MS / 1000 + rest.CALL_TIMEOUT_S
# Many times the largest event; where a hundred are more, fewer are asked for
MAX_ANSWER_BYTES = 8 * 1024 * 1024
# Server and file: neither has a character that leads to another address
_MEDIA = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_=-]{1,255})")
_CLIENT = "/_matrix/client/v3"
_SOFT = (
    "the Matrix server has let this login lapse (soft logout): log in again with the same device "
    "and put the new token into channels.matrix"
)
_HARD = (
    "the Matrix server does not know this token: log in again and put the new one into "
    "channels.matrix.token_file"
)


class MatrixRefused(MessageRefused):
    """The server understood the request and refuses it."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(f"the Matrix server refused ({status} {code}{reason and f': {reason}'})")
        self.status = status
        self.code = code


class MatrixTokenLapsed(ChannelRefused):
    """The server does not know the token any more.

    Args:
        is_soft: it knows the login still, and waits for a new token.
    """

    def __init__(self, *, is_soft: bool) -> None:
        super().__init__(_SOFT if is_soft else _HARD)
        self.is_soft = is_soft


class MatrixAccess(Protocol):
    """Source of tokens."""

    async def token(self) -> Secret:
        """Return the current token.

        Raises:
            ChannelError: there is none.
        """

    async def renew(self, used: Secret, lapsed: MatrixTokenLapsed) -> None:
        """Get another token.

        Raises:
            ChannelError: there is none; where it cannot be had this way, `lapsed`.
        """

    async def start_over(self) -> bool:
        """Use another login from now on; return false if a person must do that."""

    def proof(self, account: str) -> dict[str, object]:
        """Return the extra proof that the account is ours; may be empty."""


class MatrixFixedToken:
    """Configured token, which cannot be renewed."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    async def token(self) -> Secret:
        return self._token

    async def renew(self, used: Secret, lapsed: MatrixTokenLapsed) -> None:
        raise lapsed

    async def start_over(self) -> bool:
        return False

    def proof(self, account: str) -> dict[str, object]:
        return {}


class MatrixApi:
    """Client of one account on its homeserver."""

    def __init__(self, base_url: str, access: MatrixAccess, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self._access = access
        self._http = http
        # Of the login, once somebody asked who we are; empty where it has none
        self.device = ""

    async def whoami(self) -> str:
        """Return the account of the token.

        Raises:
            ChannelError: the token is none, or there is no Matrix server.
        """
        try:
            told = await self.call("GET", "/account/whoami")
        except MatrixRefused as err:
            raise ChannelRefused(f"{err}: check channels.matrix.base_url and token") from err
        device = told.get("device_id")
        self.device = device if isinstance(device, str) else ""
        account = told.get("user_id")
        if not isinstance(account, str) or not account.startswith("@"):
            raise ChannelRefused("no Matrix server answers: check channels.matrix.base_url")
        return account

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        max_bytes: int = MAX_ANSWER_BYTES,
        **query: str | int,
    ) -> dict[str, Any]:
        """The answer's object; each part of `path` has gone through `quoted`.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            AnswerTooLong: it is longer than `max_bytes`.
            ChannelRefused: a person has to act.
            MatrixRefused: this request is not granted.
        """
        asked = f"?{urlencode(query)}" if query else ""
        is_held = path == "/sync"
        url = f"{self._base_url}{_CLIENT}{path}{asked}"
        request = rest.json_request(method, url, {}, body, is_held_open=is_held)
        limit_s = SYNC_TIMEOUT_S if is_held else rest.CALL_TIMEOUT_S
        token = await self._access.token()
        try:
            return await self._result(_with(request, token), limit_s, max_bytes)
        except MatrixTokenLapsed as err:
            await self._access.renew(token, err)
        request = _with(request, await self._access.token())
        return await self._result(request, limit_s, max_bytes)

    async def start_over(self) -> bool:
        """Use another login for the next call; return false if a person must do that."""
        return await self._access.start_over()

    def proof(self, account: str) -> dict[str, object]:
        """Return the extra proof for a call that a token alone does not allow."""
        return self._access.proof(account)

    async def upload(self, name: str, kind: str, content: AsyncIterable[bytes], size: int) -> str:
        """Upload a file and return its address."""
        headers = {"content-type": kind, "content-length": str(size)}
        url = f"{self._base_url}/_matrix/media/v3/upload?{urlencode({'filename': name})}"
        request, token = HttpRequest("POST", url, headers, content), await self._access.token()
        try:
            told = await self._result(_with(request, token), rest.UPLOAD_TIMEOUT_S)
        except MatrixTokenLapsed as err:
            await self._access.renew(token, err)
            # Some of the file is read: it begins again from its start
            raise ChannelUnavailable("the Matrix server asked for a new token") from err
        return str(told.get("content_uri", ""))

    @asynccontextmanager
    async def download(self, address: str) -> AsyncIterator[HttpAnswer]:
        """Yield the content of a file.

        Raises:
            ChannelUnavailable: it is not to be had now.
        """
        found = _MEDIA.fullmatch(address)
        if found is None:
            raise ChannelUnavailable("the file has no usable address")
        path = f"/_matrix/client/v1/media/download/{found[1]}/{found[2]}"
        request = HttpRequest("GET", f"{self._base_url}{path}")
        request = _with(request, await self._access.token())
        async with rest.file_from(self._http, request, rest.CALL_TIMEOUT_S) as answer:
            yield answer

    async def _result(
        self, request: HttpRequest, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
    ) -> dict[str, Any]:
        reply = await rest.asked(self._http, request, timeout_s, max_bytes)
        if reply.status == rest.OK:
            return reply.fields
        raise _trouble(reply)


def _with(request: HttpRequest, token: Secret) -> HttpRequest:
    """Return the headers; without a token there is no authorization."""
    given = {"authorization": f"Bearer {token.reveal()}"} if token else {}
    return replace(request, headers={**request.headers, **given})


def quoted(part: str) -> str:
    """Quote a part of a path."""
    return quote(part, safe="", errors="replace")


def encoded(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _trouble(reply: rest.RestReply) -> ChannelError:
    code = rest.reason_in(reply.fields.get("errcode"))
    reason = rest.reason_in(reply.fields.get("error"))
    if reply.status == rest.TOO_MANY:
        header_s = rest.seconds(reply.header("retry-after"))
        told_ms = reply.fields.get("retry_after_ms")
        wait_s = rest.seconds(told_ms, header_s * 1000, rest.MAX_RETRY_S * 1000) / 1000
        text = f"the Matrix server asks to be left alone for {wait_s:.1f} s"
        return ChannelUnavailable(text, retry_after_s=wait_s)
    if reply.status >= rest.SERVER_ERRORS:
        return ChannelUnavailable(f"the Matrix server is in trouble ({reply.status} {reason})")
    # A call that wants more than a token says what
    if reply.status == rest.UNAUTHORIZED and "flows" not in reply.fields:
        return MatrixTokenLapsed(is_soft=reply.fields.get("soft_logout") is True)
    if code == "M_USER_DEACTIVATED":
        return ChannelRefused("the Matrix account of channels.matrix was deactivated")
    return MatrixRefused(reply.status, code, reason)
