"""Calls of QQ's API, its token, and what its refusals mean for whoever called.

The only module that knows addresses and codes; secret and token are never part of an error.
"""

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from agent.clock import Clock
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

# The servers answer in a fraction of it; from outside China it takes longer
CALL_TIMEOUT_S = 20.0
# A file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# No answer to anything that we ask is longer
MAX_ANSWER_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200
# The platform gives another token only in the last minute of the one before
REFRESH_EARLY_S = 50.0
MAX_TOKEN_S = 7200.0
# Where the platform does not say how long
DEFAULT_RETRY_S = 5.0
MAX_RETRY_S = 600.0
# Where it keeps files; what a message says of an address is not to be trusted
_FILE_HOSTS = (".qq.com", ".qq.com.cn", ".qpic.cn")
_TOKEN = "/app/getAppAccessToken"  # noqa: S105 - an address
_OK, _NOT_OURS, _TOO_MANY, _SERVER_ERRORS = 200, 401, 429, 500
# A message that has to be looked at by somebody of the platform's before it is shown
_LOOKED_AT = frozenset({304023, 304024})
_TOO_OFTEN = frozenset({20028, 22009, 100001, 40034100})
# The message that is answered is too old, unknown, or was answered as often as may be
_WINDOW_OVER = frozenset(
    {304026, 304027, 304028, 304103, 40034005, 40034024, 40034031, 40034102, 40034105, 40034128}
)
_REPEATED = frozenset({40054005})
_NO_ADDRESSES = frozenset({304003, 40034028, 40054010})
_NOT_FROM_HERE = 11298

Make = Callable[[Mapping[str, str]], HttpRequest]


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it."""


class WindowOver(ApiRefused):
    """Nothing can be said any more in answer to that message."""


class Repeated(ApiRefused):
    """It has an answer with this number already."""


class AddressesRefused(ApiRefused):
    """A text with addresses is not taken."""


_REFUSALS: tuple[tuple[frozenset[int], type[ApiRefused], str], ...] = (
    (_WINDOW_OVER, WindowOver, "takes no answer to that message any more"),
    (_REPEATED, Repeated, "has that answer already"),
    (_NO_ADDRESSES, AddressesRefused, "takes no addresses"),
)


class QqApi:
    """Calls on a bot's behalf.

    Args:
        urls: where the API is, and where tokens are given.
    """

    def __init__(
        self, app_id: str, secret: Secret, urls: tuple[str, str], http: HttpClient, clock: Clock
    ) -> None:
        self.app_id = app_id
        self.base_url, self._auth_url = (url.rstrip("/") for url in urls)
        self._secret = secret
        self._http = http
        self._clock = clock
        self._token = ""
        self._token_until_s = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """What the server told.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """

        def make(headers: Mapping[str, str]) -> HttpRequest:
            if body is None:
                return HttpRequest(method, self.base_url + path, headers)
            return _posting(self.base_url + path, headers, body)

        return await self._asked(make, CALL_TIMEOUT_S)

    async def upload(
        self, path: str, size_bytes: int, pieces: Callable[[], AsyncIterable[bytes]]
    ) -> dict[str, Any]:
        """As `call` with POST, with JSON that is made while it goes."""

        def make(headers: Mapping[str, str]) -> HttpRequest:
            told = {"content-type": "application/json", "content-length": str(size_bytes)}
            return HttpRequest("POST", self.base_url + path, {**headers, **told}, pieces())

        return await self._asked(make, UPLOAD_TIMEOUT_S)

    @asynccontextmanager
    async def download(self, url: str) -> AsyncIterator[HttpAnswer]:
        """A file, by the address that its message told; the token does not go there.

        Raises:
            ChannelError: it is not to be had.
        """
        if not self._is_theirs(url):
            raise MessageRefused("it is not where QQ keeps files")
        try:
            async with self._http.exchange(HttpRequest("GET", url), CALL_TIMEOUT_S) as answer:
                if answer.status != _OK:
                    raise ChannelUnavailable(f"QQ answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    async def authorization(self) -> str:
        """What a session is begun with; the token in it lasts for some seconds at least.

        Raises:
            ChannelError: there is none to be had.
        """
        async with self._one_at_a_time:
            if not self._token or self._clock.monotonic_s() >= self._token_until_s:
                await self._renew()
            return f"QQBot {self._token}"

    def forget_token(self) -> None:
        """The platform does not take it any more."""
        self._token = ""

    async def _renew(self) -> None:
        now_s = self._clock.monotonic_s()
        body = {"appId": self.app_id, "clientSecret": self._secret.reveal()}
        status, told = await self._exchange(_posting(self._auth_url + _TOKEN, {}, body))
        token = told.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise _token_error(status, told)
        lasts_s = min(_seconds(str(told.get("expires_in", ""))), MAX_TOKEN_S)
        self._token = token
        self._token_until_s = now_s + max(lasts_s - REFRESH_EARLY_S, 0.0)

    async def _asked(self, make: Make, timeout_s: float) -> dict[str, Any]:
        status, told = await self._exchange(make(await self._headers()), timeout_s)
        if status == _NOT_OURS and _code(told) != _NOT_FROM_HERE:
            # Another program of the same bot may have been given a new one
            self.forget_token()
            status, told = await self._exchange(make(await self._headers()), timeout_s)
        # Success by its status may still be a refusal by its code
        if status < 300 and (not _code(told) or _code(told) in _LOOKED_AT):  # noqa: PLR2004 - what HTTP calls success
            return told
        raise _error(status, told)

    async def _headers(self) -> dict[str, str]:
        return {"authorization": await self.authorization(), "x-union-appid": self.app_id}

    async def _exchange(
        self, request: HttpRequest, timeout_s: float = CALL_TIMEOUT_S
    ) -> tuple[int, dict[str, Any]]:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                content = bytearray()
                while piece := await answer.read():
                    content += piece
                    if len(content) > MAX_ANSWER_BYTES:
                        raise ChannelUnavailable("QQ sent an answer that is too long")
                told = _read(content)
                if not told and answer.status == _OK:
                    raise ChannelUnavailable("QQ's server says nothing readable")
                told["retry_after_s"] = min(_seconds(answer.header("retry-after")), MAX_RETRY_S)
                return answer.status, told
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _is_theirs(self, url: str) -> bool:
        if url.startswith(f"{self.base_url}/"):
            return True
        try:
            place = urlsplit(url)
            host = (place.hostname or "").lower()
        except ValueError:
            return False
        return place.scheme == "https" and host.endswith(_FILE_HOSTS)


def unknown_bot(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"QQ does not know this bot ({said}): look at app_id and app_secret in channels.qq; the "
        "bot's page at https://q.qq.com has both, and makes another secret"
    )


def _posting(url: str, headers: Mapping[str, str], body: object) -> HttpRequest:
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return HttpRequest("POST", url, {**headers, "content-type": "application/json"}, content)


def _error(status: int, told: Mapping[str, Any]) -> ChannelError:
    code, said = _code(told), _said(status, told)
    if status == _TOO_MANY or code in _TOO_OFTEN:
        wait_s = told["retry_after_s"] or DEFAULT_RETRY_S
        return ChannelUnavailable(f"QQ was asked too often ({said})", retry_after_s=wait_s)
    for codes, kind, words in _REFUSALS:
        if code in codes:
            return kind(f"QQ {words} ({said})")
    if status >= _SERVER_ERRORS or not code:
        return ChannelUnavailable(f"QQ's server is in trouble ({said})")
    if code == _NOT_FROM_HERE or status == _NOT_OURS:
        return _unwelcome(said) if code == _NOT_FROM_HERE else unknown_bot(said)
    return ApiRefused(f"QQ refused it ({said})")


def _unwelcome(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"QQ does not let this address call ({said}): add it to the bot's list of addresses at "
        "https://q.qq.com, or empty that list"
    )


def _token_error(status: int, told: Mapping[str, Any]) -> ChannelError:
    code = _code(told)
    if status == _TOO_MANY or status >= _SERVER_ERRORS or code in _TOO_OFTEN or not code:
        return _error(max(status, _SERVER_ERRORS) if not code else status, told)
    return unknown_bot(_said(status, told))


def _said(status: int, told: Mapping[str, Any]) -> str:
    reason = told.get("message")
    words = printable_line(reason if isinstance(reason, str) else "", MAX_REASON_CHARS)
    return f"{status}/{_code(told)}{f': {words}' if words else ''}"


def _code(told: Mapping[str, Any]) -> int:
    """The platform's own; 0 where it said none."""
    code = told.get("code")
    return code if isinstance(code, int) else 0


def _read(content: bytearray) -> dict[str, Any]:
    """Nothing of a page that something in between has sent."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _seconds(told: str) -> float:
    is_number = told.isascii() and told.isdigit() and len(told) < 10  # noqa: PLR2004 - no huge ints
    return float(told) if is_number else 0.0
