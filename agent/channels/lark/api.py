"""Calls of Lark's API, its token, and what its refusals mean for whoever called.

The only module that knows addresses and codes; secret and token are never part of an error.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agent.channels.forms import Form
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
from agent.messages import Attachment
from agent.printable import printable_line

# The servers answer in a fraction of it
CALL_TIMEOUT_S = 15.0
# A file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# No answer to anything that we ask is longer
MAX_ANSWER_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200
# A token is changed before its end: what is under way with it still arrives
REFRESH_EARLY_S = 120.0
MAX_TOKEN_S = 7200.0
# Where a server does not say how long; calls are counted by the second and the minute
DEFAULT_RETRY_S = 5.0
MAX_RETRY_S = 600.0
_ENDPOINT = "/callback/ws/endpoint"
_TOKEN = "/open-apis/auth/v3/tenant_access_token/internal"  # noqa: S105 - an address
_OK, _TOO_MANY, _SERVER_ERRORS = 200, 429, 500
_SPENT_TOKEN = frozenset({99991661, 99991663, 99991664, 99991668})
_TOO_OFTEN = frozenset({99991400, 230020})
_NO_RIGHT = frozenset({99991672, 99991679})
# Of the endpoint: busy, in trouble, and too many connections of one app
_BUSY = frozenset({1, 1000040343, 1000040350})

Make = Callable[[Mapping[str, str]], HttpRequest]


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it."""


class LarkApi:
    """Calls on an app's behalf."""

    def __init__(
        self, app_id: str, secret: Secret, base_url: str, http: HttpClient, clock: Clock
    ) -> None:
        self.app_id = app_id
        self._secret = secret
        self.base_url = base_url.rstrip("/")
        self._http = http
        self._clock = clock
        self._token = ""
        self._token_until_s = 0.0

    async def endpoint(self) -> dict[str, Any]:
        """Where the long connection is to be opened, and how it wants to be kept.

        Raises:
            ChannelError: the app may not, or not now.
        """
        body = {"AppID": self.app_id, "AppSecret": self._secret.reveal()}
        status, told = await self._exchange(_posting(self.base_url + _ENDPOINT, {}, body))
        code = _code(told)
        data = told.get("data")
        if code == 0 and isinstance(data, dict):
            return data
        if status >= _SERVER_ERRORS or status == _TOO_MANY or code in _BUSY or not told:
            raise ChannelUnavailable(f"Lark opens no connection now ({_said(status, told)})")
        raise unknown_app(_said(status, told))

    async def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """What the server told.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """

        def make(headers: Mapping[str, str]) -> HttpRequest:
            url = f"{self.base_url}/open-apis{path}"
            if body is None:
                return HttpRequest(method, url, headers)
            return _posting(url, headers, body, method)

        return await self._asked(make, CALL_TIMEOUT_S)

    async def upload(self, fields: Mapping[str, object], file: Attachment) -> str:
        """The key that the platform gives to a file."""

        def make(headers: Mapping[str, str]) -> HttpRequest:
            form = Form(fields, "file", file)
            url = f"{self.base_url}/open-apis/im/v1/files"
            return HttpRequest("POST", url, {**headers, **form.headers}, form.pieces())

        told = await self._asked(make, UPLOAD_TIMEOUT_S)
        return text_in(told.get("data"), "file_key")

    @asynccontextmanager
    async def download(self, path: str) -> AsyncIterator[HttpAnswer]:
        """A file of a message.

        Raises:
            ChannelError: it is not to be had.
        """
        headers = await self._headers()
        request = HttpRequest("GET", f"{self.base_url}/open-apis{path}", headers)
        try:
            async with self._http.exchange(request, CALL_TIMEOUT_S) as answer:
                if answer.status != _OK:
                    raise ChannelUnavailable(f"Lark answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    async def _asked(self, make: Make, timeout_s: float) -> dict[str, Any]:
        status, told = await self._exchange(make(await self._headers()), timeout_s)
        if _code(told) in _SPENT_TOKEN:
            # Somebody else's refresh, or a change of the secret, ended it early
            self._token = ""
            status, told = await self._exchange(make(await self._headers()), timeout_s)
        if status == _OK and _code(told) == 0:
            return told
        raise _error(status, told)

    async def _headers(self) -> dict[str, str]:
        now_s = self._clock.monotonic_s()
        if not self._token or now_s >= self._token_until_s:
            body = {"app_id": self.app_id, "app_secret": self._secret.reveal()}
            status, told = await self._exchange(_posting(self.base_url + _TOKEN, {}, body))
            token = text_in(told, "tenant_access_token")
            if _code(told) != 0 or not token.isascii() or not token.isprintable() or not token:
                raise _token_error(status, told)
            lasts_s = told.get("expire")
            lasts_s = float(lasts_s) if isinstance(lasts_s, int) else 0.0
            self._token = token
            self._token_until_s = now_s + min(lasts_s, MAX_TOKEN_S) - REFRESH_EARLY_S
        return {"authorization": f"Bearer {self._token}"}

    async def _exchange(
        self, request: HttpRequest, timeout_s: float = CALL_TIMEOUT_S
    ) -> tuple[int, dict[str, Any]]:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                content = bytearray()
                while piece := await answer.read():
                    content += piece
                    if len(content) > MAX_ANSWER_BYTES:
                        raise ChannelUnavailable("Lark sent an answer that is too long")
                told = _read(content)
                told.setdefault("retry_after_s", _seconds(answer))
                return answer.status, told
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def unknown_app(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"Lark does not know this app ({said}): look at app_id and app_secret in channels.lark, at "
        "base_url (https://open.feishu.cn for Feishu), and whether the app's bot is switched on "
        "and a version of it is released"
    )


def text_in(told: object, name: str) -> str:
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, str) else ""


def _posting(
    url: str, headers: Mapping[str, str], body: object, method: str = "POST"
) -> HttpRequest:
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    told = {**headers, "content-type": "application/json; charset=utf-8"}
    return HttpRequest(method, url, told, content)


def _error(status: int, told: Mapping[str, Any]) -> ChannelError:
    code, said = _code(told), _said(status, told)
    if status == _TOO_MANY or code in _TOO_OFTEN:
        wait_s = told["retry_after_s"] or DEFAULT_RETRY_S
        return ChannelUnavailable(f"Lark was asked too often ({said})", retry_after_s=wait_s)
    if status >= _SERVER_ERRORS or code < 0:
        return ChannelUnavailable(f"Lark's server is in trouble ({said})")
    if code in _SPENT_TOKEN:
        return unknown_app(said)
    if code in _NO_RIGHT:
        return ChannelRefused(
            f"the app lacks a right ({said}): give it im:message, im:message:send_as_bot and "
            "im:resource on its page Permissions, and release a version"
        )
    return ApiRefused(f"Lark refused it ({said})")


def _token_error(status: int, told: Mapping[str, Any]) -> ChannelError:
    code = _code(told)
    if status == _TOO_MANY or status >= _SERVER_ERRORS or code in _TOO_OFTEN or code <= 0:
        return _error(status, {**told, "code": code or -1})
    return unknown_app(_said(status, told))


def _said(status: int, told: Mapping[str, Any]) -> str:
    reason = printable_line(text_in(told, "msg"), MAX_REASON_CHARS)
    return f"{status}/{_code(told)}{f': {reason}' if reason else ''}"


def _code(told: Mapping[str, Any]) -> int:
    """The platform's own; -1 of a page that something in between has sent."""
    code = told.get("code")
    return code if isinstance(code, int) else -1


def _read(content: bytearray) -> dict[str, Any]:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(told, dict):
        return {}
    told.pop("retry_after_s", None)
    return told


def _seconds(answer: HttpAnswer) -> float:
    told = answer.header("x-ogw-ratelimit-reset") or answer.header("retry-after")
    is_number = told.isascii() and told.isdigit() and len(told) < 10  # noqa: PLR2004 - no huge ints
    return min(float(told), MAX_RETRY_S) if is_number else 0.0
