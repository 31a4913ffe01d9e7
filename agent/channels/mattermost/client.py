"""Client of Mattermost's REST API, and the meaning of its refusals.

The only module that knows addresses; the token is never part of an error.
"""

import re
from contextlib import AbstractAsyncContextManager
from typing import Any

from agent.channels import rest
from agent.channels.multipart import MultipartForm
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

# A thousand posts, as many as are told at once, are some hundred KB; long ones come in pages
MAX_ANSWER_BYTES = 8 * 1024 * 1024
_ID = re.compile(r"[a-z0-9]{26}")
_VERSION = "/api/v4"


class MattermostRefused(MessageRefused):
    """The server understood the request and refuses it."""

    def __init__(self, status: int, reason: str) -> None:
        hint = ": add the bot to the channel, and let it write there"
        more = hint if status == rest.FORBIDDEN else ""
        super().__init__(f"Mattermost refused it ({status}, {reason or 'without a reason'}){more}")
        self.status = status


class MattermostApi:
    """Calls on a bot's behalf.

    Args:
        base_url: of the server, without the path of the API.
    """

    def __init__(self, token: Secret, base_url: str, http: HttpClient) -> None:
        self.token = token
        self.base_url = base_url.rstrip("/")
        self._http = http

    @property
    def socket_url(self) -> str:
        return f"ws{self.base_url.removeprefix('http')}{_VERSION}/websocket"

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the server and return its answer.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        request = rest.json_request(method, self._url(path), self._headers(), body)
        return await self._asked(request, rest.CALL_TIMEOUT_S)

    async def upload(self, channel: str, file: Attachment) -> Any:
        """Upload a file and return the server's answer.

        Raises:
            ChannelError: as `call`.
        """
        form = MultipartForm({"channel_id": channel}, "files", file)
        headers = {**self._headers(), **form.headers}
        request = HttpRequest("POST", self._url("/files"), headers, form.pieces())
        return await self._asked(request, rest.UPLOAD_TIMEOUT_S)

    def download(self, file_id: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a post's file.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        request = HttpRequest("GET", self._url(f"/files/{known_id(file_id)}"), self._headers())
        return rest.file_from(self._http, request, rest.CALL_TIMEOUT_S)

    def _url(self, path: str) -> str:
        return f"{self.base_url}{_VERSION}{path}"

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token.reveal()}"}

    async def _asked(self, request: HttpRequest, timeout_s: float) -> Any:
        reply = await rest.asked(self._http, request, timeout_s, MAX_ANSWER_BYTES)
        if reply.status < 300:  # noqa: PLR2004 - what HTTP calls success
            return reply.told
        raise _error(reply)


def is_id(told: str) -> bool:
    return _ID.fullmatch(told) is not None


def known_id(told: str) -> str:
    """Return a valid id, fit for a path.

    Raises:
        MessageRefused: it is none.
    """
    if not is_id(told):
        raise MessageRefused("invalid Mattermost id")
    return told


def unknown_bot() -> ChannelRefused:
    return ChannelRefused(
        "Mattermost does not take the token: make a new one for the bot under Integrations > Bot "
        "Accounts, and set it in channels.mattermost"
    )


def _error(reply: rest.RestReply) -> ChannelError:
    status, is_theirs = reply.status, "status_code" in reply.fields
    if status == rest.TOO_MANY:
        wait_s = _wait_s(reply)
        return ChannelUnavailable("Mattermost was asked too often", retry_after_s=wait_s)
    if status == rest.UNAUTHORIZED:
        return unknown_bot()
    if status >= rest.SERVER_ERRORS:
        return ChannelUnavailable(f"Mattermost's server is in trouble (HTTP {status})")
    # A proxy says so of large files too
    if not is_theirs and status != rest.TOO_LARGE:
        return ChannelUnavailable(
            f"{reply.host} answers {status} as no Mattermost server does: "
            "look at channels.mattermost.base_url"
        )
    return MattermostRefused(
        status, rest.reason_in(reply.fields.get("message")) if is_theirs else ""
    )


def _wait_s(reply: rest.RestReply) -> float:
    told = reply.header("x-ratelimit-reset") or reply.header("retry-after")
    # A date in seconds, as others mean it, would be an hour for nothing
    return rest.seconds(told if len(told) < 5 else None)  # noqa: PLR2004 - seconds have less figures
