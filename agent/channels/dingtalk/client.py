"""Client of DingTalk's two APIs, and their token.

The only module that knows addresses; secret, token and the addresses that answer for an hour are
never part of an error.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote_plus, urlsplit

from agent import __version__
from agent.channels import rest
from agent.channels.dingtalk.errors import (
    DingTalkRefused,
    failure,
    is_done,
    is_spent_token,
    unknown_app,
)
from agent.channels.multipart import MultipartForm
from agent.channels.rest import RestReply, json_request
from agent.config import Secret
from agent.errors import ChannelUnavailable
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.system.clock import Clock

# What people say to the robot
HEARD = "/v1.0/im/bot/messages/get"
# A token is changed before its end: what is under way with it still arrives
REFRESH_EARLY_S = 300.0
MAX_TOKEN_S = 7200.0
_CONNECTION = "/v1.0/gateway/connections/open"
_TOKEN = "/v1.0/oauth2/accessToken"  # noqa: S105 - an address
_FILE = "/v1.0/robot/messageFiles/download"
_HEADER = "x-acs-dingtalk-access-token"
# What takes files is another server, whose name differs in its first part
_NEWER, _OLDER = "://api.", "://oapi."


class DingTalkApi:
    """Calls on an app's behalf; its robot is known by the app's id."""

    def __init__(
        self, client_id: str, secret: Secret, base_url: str, http: HttpClient, clock: Clock
    ) -> None:
        self.client_id = client_id
        self._secret = secret
        self._base_url = base_url.rstrip("/")
        self._older_url = self._base_url.replace(_NEWER, _OLDER, 1)
        self._http = http
        self._clock = clock
        self._token = ""
        self._token_until_s = 0.0

    async def endpoint(self) -> str:
        """Return the address for a connection, good once and for 90 s.

        Raises:
            ChannelError: the app may not, or not now.
        """
        body = {
            "clientId": self.client_id,
            "clientSecret": self._secret.reveal(),
            "subscriptions": [{"type": "CALLBACK", "topic": HEARD}],
            "ua": f"barnacle/{__version__}",
        }
        told = await self._admitted(_CONNECTION, body)
        endpoint = self._usable(text_in(told, "endpoint"), "wss", "ws")
        return f"{endpoint}?ticket={quote_plus(text_in(told, 'ticket'))}"

    async def call(self, path: str, body: object) -> dict[str, Any]:
        """Call the server and return its answer.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """

        def make(token: str) -> HttpRequest:
            return json_request("POST", self._base_url + path, {_HEADER: token}, body)

        return await self._with_token(make, rest.CALL_TIMEOUT_S)

    async def answer(self, hook: str, body: object) -> None:
        """Send a message to the webhook of a session; raises as `call` does."""
        url = self._usable(hook, "https", "http")
        await self._done(json_request("POST", url, {}, body))

    async def upload(self, kind: str, file: Attachment) -> str:
        """Upload a file and return its id; raises as `call` does."""

        def make(token: str) -> HttpRequest:
            form = MultipartForm({"type": kind}, "media", file)
            url = f"{self._older_url}/media/upload?access_token={quote_plus(token)}"
            return HttpRequest("POST", url, form.headers, form.pieces())

        return text_in(await self._with_token(make, rest.UPLOAD_TIMEOUT_S), "media_id")

    @asynccontextmanager
    async def download(self, code: str) -> AsyncIterator[HttpAnswer]:
        """Yield the content of a message's file.

        Raises:
            ChannelError: it is not to be had.
        """
        told = await self.call(_FILE, {"downloadCode": code, "robotCode": self.client_id})
        url = self._usable(text_in(told, "downloadUrl"), "https", "http")
        async with rest.file_from(self._http, HttpRequest("GET", url)) as answer:
            yield answer

    async def check(self) -> None:
        """Check that the app is known, without traffic of messages. Raises as `call` does."""
        await self._fresh_token()

    def _usable(self, url: str, safe: str, bare: str) -> str:
        """Return the address if it may be used: without TLS only if the settings have none."""
        schemes = {safe} if self._base_url.startswith("https://") else {safe, bare}
        if urlsplit(url).scheme not in schemes:
            raise ChannelUnavailable("DingTalk gave no usable address for the connection")
        return url

    async def _with_token(
        self, make: Callable[[str], HttpRequest], timeout_s: float
    ) -> dict[str, Any]:
        reply = await self._asked(make(await self._fresh_token()), timeout_s)
        if is_spent_token(reply):
            # Somebody else's refresh, or a change of the secret, ended it early
            self._token = ""
            reply = await self._asked(make(await self._fresh_token()), timeout_s)
        if not is_done(reply):
            raise failure(reply)
        return reply.fields

    async def _fresh_token(self) -> str:
        now_s = self._clock.monotonic_s()
        if not self._token or now_s >= self._token_until_s:
            body = {"appKey": self.client_id, "appSecret": self._secret.reveal()}
            told = await self._admitted(_TOKEN, body)
            token = text_in(told, "accessToken")
            if not token or not token.isascii() or not token.isprintable():
                raise ChannelUnavailable("DingTalk gave no usable token")
            lasts_s = rest.seconds(told.get("expireIn"), 0.0, MAX_TOKEN_S)
            self._token = token
            self._token_until_s = now_s + lasts_s - REFRESH_EARLY_S
        return self._token

    async def _admitted(self, path: str, body: object) -> dict[str, Any]:
        """Return the app's admission; a person must mend whatever prevents it."""
        try:
            return await self._done(json_request("POST", self._base_url + path, {}, body))
        except DingTalkRefused as err:
            raise unknown_app(str(err)) from err

    async def _done(self, request: HttpRequest) -> dict[str, Any]:
        reply = await self._asked(request)
        if not is_done(reply):
            raise failure(reply)
        return reply.fields

    async def _asked(
        self, request: HttpRequest, timeout_s: float = rest.CALL_TIMEOUT_S
    ) -> RestReply:
        return await rest.asked(self._http, request, timeout_s)


def text_in(told: object, name: str) -> str:
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, str) else ""
