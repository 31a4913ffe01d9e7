"""Client of QQ's API, its token, and the meaning of its refusals.

The only module that knows addresses and codes; secret and token are never part of an error.
"""

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

from agent.channels import rest
from agent.channels.rest import RestReply
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.system.clock import Clock

# The platform gives another token only in the last minute of the one before
REFRESH_EARLY_S = 50.0
MAX_TOKEN_S = 7200.0
# Where it keeps files; what a message says of an address is not to be trusted
_FILE_HOSTS = (".qq.com", ".qq.com.cn", ".qpic.cn")
_TOKEN = "/app/getAppAccessToken"  # noqa: S105 - an address
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


class QqRefused(MessageRefused):
    """The server understood the request and refuses it."""


class QqWindowClosed(QqRefused):
    """The message cannot be answered any more."""


class QqRepeated(QqRefused):
    """The message has an answer with this number already."""


class QqAddressesRefused(QqRefused):
    """The text is refused because of its addresses."""


_REFUSALS: tuple[tuple[frozenset[int], type[QqRefused], str], ...] = (
    (_WINDOW_OVER, QqWindowClosed, "takes no answer to that message any more"),
    (_REPEATED, QqRepeated, "has that answer already"),
    (_NO_ADDRESSES, QqAddressesRefused, "takes no addresses"),
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
        """Call the server and return its answer.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """

        def make(headers: Mapping[str, str]) -> HttpRequest:
            return rest.json_request(method, self.base_url + path, headers, body)

        return await self._asked(make, rest.CALL_TIMEOUT_S)

    async def upload(
        self, path: str, size_bytes: int, pieces: Callable[[], AsyncIterable[bytes]]
    ) -> dict[str, Any]:
        """Call with POST and JSON that is made while it is sent; else like `call`."""

        def make(headers: Mapping[str, str]) -> HttpRequest:
            told = {"content-type": "application/json", "content-length": str(size_bytes)}
            return HttpRequest("POST", self.base_url + path, {**headers, **told}, pieces())

        return await self._asked(make, rest.UPLOAD_TIMEOUT_S)

    def download(self, url: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a file by its address; the token is not sent there.

        Raises:
            ChannelError: it is not to be had.
        """
        if not self._is_theirs(url):
            raise MessageRefused("the file is not on QQ's server")
        return rest.file_from(self._http, HttpRequest("GET", url), rest.CALL_TIMEOUT_S)

    async def authorization(self) -> str:
        """Return the authorization of a session; its token lasts for some seconds at least.

        Raises:
            ChannelError: there is none to be had.
        """
        async with self._one_at_a_time:
            if not self._token or self._clock.monotonic_s() >= self._token_until_s:
                await self._renew()
            return f"QQBot {self._token}"

    def forget_token(self) -> None:
        """Forget the token, which the platform refused."""
        self._token = ""

    async def _renew(self) -> None:
        now_s = self._clock.monotonic_s()
        body = {"appId": self.app_id, "clientSecret": self._secret.reveal()}
        reply = await rest.asked(
            self._http, rest.json_request("POST", self._auth_url + _TOKEN, {}, body)
        )
        token = reply.fields.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise _token_error(reply)
        lasts_s = rest.seconds(reply.fields.get("expires_in"), 0.0, MAX_TOKEN_S)
        self._token = token
        self._token_until_s = now_s + max(lasts_s - REFRESH_EARLY_S, 0.0)

    async def _asked(self, make: Make, timeout_s: float) -> dict[str, Any]:
        reply = await rest.asked(self._http, make(await self._headers()), timeout_s)
        if reply.status == rest.UNAUTHORIZED and _code(reply) != _NOT_FROM_HERE:
            # Another program of the same bot may have been given a new one
            self.forget_token()
            reply = await rest.asked(self._http, make(await self._headers()), timeout_s)
        # Success by its status may still be a refusal by its code, or a page of somebody else's
        is_done = reply.status < 300 and bool(reply.fields)  # noqa: PLR2004 - what HTTP calls success
        if is_done and (not _code(reply) or _code(reply) in _LOOKED_AT):
            return reply.fields
        raise _error(reply)

    async def _headers(self) -> dict[str, str]:
        return {"authorization": await self.authorization(), "x-union-appid": self.app_id}

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


def _error(reply: RestReply) -> ChannelError:
    code, said = _code(reply), _said(reply)
    if reply.status == rest.TOO_MANY or code in _TOO_OFTEN:
        wait_s = rest.seconds(reply.header("retry-after"))
        return ChannelUnavailable(f"QQ was asked too often ({said})", retry_after_s=wait_s)
    for codes, kind, words in _REFUSALS:
        if code in codes:
            return kind(f"QQ {words} ({said})")
    if reply.status >= rest.SERVER_ERRORS or not code:
        return ChannelUnavailable(f"QQ's server is in trouble ({said})")
    if code == _NOT_FROM_HERE:
        return _unwelcome(said)
    is_unknown = reply.status == rest.UNAUTHORIZED
    return unknown_bot(said) if is_unknown else QqRefused(f"QQ refused it ({said})")


def _unwelcome(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"QQ does not let this address call ({said}): add it to the bot's list of addresses at "
        "https://q.qq.com, or empty that list"
    )


def _token_error(reply: RestReply) -> ChannelError:
    is_for_now = reply.status == rest.TOO_MANY or reply.status >= rest.SERVER_ERRORS
    if is_for_now or _code(reply) in _TOO_OFTEN or not _code(reply):
        return _error(reply)
    return unknown_bot(_said(reply))


def _said(reply: RestReply) -> str:
    words = rest.reason_in(reply.fields.get("message"))
    return f"{reply.status}/{_code(reply)}{f': {words}' if words else ''}"


def _code(reply: RestReply) -> int:
    """Return the platform's error code; 0 if there is none."""
    code = reply.fields.get("code")
    return code if isinstance(code, int) else 0
