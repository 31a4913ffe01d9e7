"""Client of Lark's API, its token, and the meaning of its refusals.

The only module that knows addresses and codes; secret and token are never part of an error.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agent.channels import rest
from agent.channels.multipart import MultipartForm
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.system.clock import Clock

# A token is changed before its end: what is under way with it still arrives
REFRESH_EARLY_S = 120.0
MAX_TOKEN_S = 7200.0
# Calls are counted by the second and the minute
MAX_RETRY_S = 600.0
_ENDPOINT = "/callback/ws/endpoint"
_TOKEN = "/open-apis/auth/v3/tenant_access_token/internal"  # noqa: S105 - an address
_JSON = {"content-type": "application/json; charset=utf-8"}
_SPENT_TOKEN = frozenset({99991661, 99991663, 99991664, 99991668})
_TOO_OFTEN = frozenset({99991400, 230020})
_NO_RIGHT = frozenset({99991672, 99991679})
# Of the endpoint: busy, in trouble, and too many connections of one app
_BUSY = frozenset({1, 1000040343, 1000040350})

Make = Callable[[Mapping[str, str]], HttpRequest]


class LarkRefused(MessageRefused):
    """The server understood the request and refuses it."""


class LarkApi:
    """Client of one app."""

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
        """Return the address of the long connection and its settings.

        Raises:
            ChannelError: the app may not, or not now.
        """
        body = {"AppID": self.app_id, "AppSecret": self._secret.reveal()}
        reply = await self._posted(_ENDPOINT, body)
        code, data = _code(reply), reply.fields.get("data")
        if code == 0 and isinstance(data, dict):
            return data
        is_full = reply.status == rest.TOO_MANY or code in _BUSY
        if is_full or reply.status >= rest.SERVER_ERRORS or not reply.fields:
            raise ChannelUnavailable(f"Lark opens no connection for now ({_said(reply)})")
        raise unknown_app(_said(reply))

    async def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Call the server and return its answer.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """

        def make(headers: Mapping[str, str]) -> HttpRequest:
            typed = {**headers, **({} if body is None else _JSON)}
            return rest.json_request(method, f"{self.base_url}/open-apis{path}", typed, body)

        return await self._asked(make, rest.CALL_TIMEOUT_S)

    async def upload(self, fields: Mapping[str, object], file: Attachment) -> str:
        """Upload a file and return its key."""

        def make(headers: Mapping[str, str]) -> HttpRequest:
            form = MultipartForm(fields, "file", file)
            url = f"{self.base_url}/open-apis/im/v1/files"
            return HttpRequest("POST", url, {**headers, **form.headers}, form.pieces())

        told = await self._asked(make, rest.UPLOAD_TIMEOUT_S)
        return text_in(told.get("data"), "file_key")

    @asynccontextmanager
    async def download(self, path: str) -> AsyncIterator[HttpAnswer]:
        """Yield the content of a message's file.

        Raises:
            ChannelError: it is not to be had.
        """
        headers = await self._headers()
        request = HttpRequest("GET", f"{self.base_url}/open-apis{path}", headers)
        async with rest.file_from(self._http, request, rest.CALL_TIMEOUT_S) as answer:
            yield answer

    async def _asked(self, make: Make, timeout_s: float) -> dict[str, Any]:
        reply = await rest.asked(self._http, make(await self._headers()), timeout_s)
        if _code(reply) in _SPENT_TOKEN:
            # Somebody else's refresh, or a change of the secret, ended it early
            self._token = ""
            reply = await rest.asked(self._http, make(await self._headers()), timeout_s)
        if reply.status == rest.OK and _code(reply) == 0:
            return reply.fields
        raise _error(reply)

    async def _headers(self) -> dict[str, str]:
        now_s = self._clock.monotonic_s()
        if not self._token or now_s >= self._token_until_s:
            body = {"app_id": self.app_id, "app_secret": self._secret.reveal()}
            reply = await self._posted(_TOKEN, body)
            token = text_in(reply.told, "tenant_access_token")
            if _code(reply) != 0 or not token.isascii() or not token.isprintable() or not token:
                raise _token_error(reply)
            lasts_s = reply.fields.get("expire")
            lasts_s = float(lasts_s) if isinstance(lasts_s, int) else 0.0
            self._token = token
            self._token_until_s = now_s + min(lasts_s, MAX_TOKEN_S) - REFRESH_EARLY_S
        return {"authorization": f"Bearer {self._token}"}

    async def _posted(self, path: str, body: object) -> rest.RestReply:
        request = rest.json_request("POST", self.base_url + path, _JSON, body)
        return await rest.asked(self._http, request)


def unknown_app(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"Lark does not know this app ({said}): look at app_id and app_secret in channels.lark, at "
        "base_url (https://open.feishu.cn for Feishu), and whether the app's bot is switched on "
        "and a version of it is released"
    )


def text_in(told: object, name: str) -> str:
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, str) else ""


def _error(reply: rest.RestReply) -> ChannelError:
    code, said = _code(reply), _said(reply)
    if reply.status == rest.TOO_MANY or code in _TOO_OFTEN:
        header = reply.header("x-ogw-ratelimit-reset") or reply.header("retry-after")
        wait_s = rest.seconds(header, most_s=MAX_RETRY_S)
        return ChannelUnavailable(f"Lark was asked too often ({said})", retry_after_s=wait_s)
    if reply.status >= rest.SERVER_ERRORS or code < 0:
        return _trouble(said)
    if code in _SPENT_TOKEN:
        return unknown_app(said)
    if code in _NO_RIGHT:
        return ChannelRefused(
            f"the app lacks a right ({said}): give it im:message, im:message:send_as_bot and "
            "im:resource on its page Permissions, and release a version"
        )
    return LarkRefused(f"Lark refused it ({said})")


def _token_error(reply: rest.RestReply) -> ChannelError:
    code, said = _code(reply), _said(reply)
    if code == 0:
        return _trouble(said)
    is_passing = reply.status == rest.TOO_MANY or code in _TOO_OFTEN
    if is_passing or reply.status >= rest.SERVER_ERRORS or code < 0:
        return _error(reply)
    return unknown_app(said)


def _trouble(said: str) -> ChannelUnavailable:
    return ChannelUnavailable(f"Lark's server is in trouble ({said})")


def _said(reply: rest.RestReply) -> str:
    reason = rest.reason_in(reply.fields.get("msg"))
    return f"{reply.status}/{_code(reply)}{f': {reason}' if reason else ''}"


def _code(reply: rest.RestReply) -> int:
    """Return the platform's error code; -1 for a page of something in between."""
    code = reply.fields.get("code")
    return code if isinstance(code, int) else -1
