"""One call of Mattermost's REST API, and what its refusals mean for whoever called.

The only module that knows addresses; the token is never part of an error.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agent.channels.forms import Form
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

# A server answers in a fraction of it; a phone network in between takes its time
CALL_TIMEOUT_S = 15.0
# A large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# A thousand posts, as many as are told at once, are some hundred KB; long ones some MB
MAX_ANSWER_BYTES = 8 * 1024 * 1024
# Where a server does not say how long; its windows are of one second
DEFAULT_RETRY_S = 5.0
MAX_RETRY_S = 3600.0
MAX_REASON_CHARS = 200
_ID = re.compile(r"[a-z0-9]{26}")
_VERSION = "/api/v4"
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 401, 403, 404, 429
_SERVER_ERRORS = 500


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it."""

    def __init__(self, status: int, reason: str) -> None:
        hint = ": add the bot to the channel, and let it write there"
        more = hint if status == _FORBIDDEN else ""
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
        """What the server told.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        headers, content = self._headers(), b""
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        request = HttpRequest(method, self._url(path), headers, content)
        return await self._asked(request, CALL_TIMEOUT_S)

    async def upload(self, channel: str, file: Attachment) -> Any:
        """What the server told of a file that it has now.

        Raises:
            ChannelError: as `call`.
        """
        form = Form({"channel_id": channel}, "files", file)
        headers = {**self._headers(), **form.headers}
        request = HttpRequest("POST", self._url("/files"), headers, form.pieces())
        return await self._asked(request, UPLOAD_TIMEOUT_S)

    @asynccontextmanager
    async def download(self, file_id: str) -> AsyncIterator[HttpAnswer]:
        """A file of a post.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        request = HttpRequest("GET", self._url(f"/files/{known_id(file_id)}"), self._headers())
        try:
            async with self._http.exchange(request, CALL_TIMEOUT_S) as answer:
                if answer.status != 200:  # noqa: PLR2004 - what HTTP calls OK
                    raise ChannelUnavailable(f"Mattermost answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _url(self, path: str) -> str:
        return f"{self.base_url}{_VERSION}{path}"

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token.reveal()}"}

    async def _asked(self, request: HttpRequest, timeout_s: float) -> Any:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                told = _read(await _content(answer))
                if answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
                    return told
                raise _error(answer, told)
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def is_id(told: str) -> bool:
    return _ID.fullmatch(told) is not None


def known_id(told: str) -> str:
    """An id as the server makes them, fit for a path.

    Raises:
        MessageRefused: it is none.
    """
    if not is_id(told):
        raise MessageRefused("that is no id of Mattermost")
    return told


def unknown_bot() -> ChannelRefused:
    return ChannelRefused(
        "Mattermost does not take the token: make a new one for the bot under Integrations > Bot "
        "Accounts, and set it in channels.mattermost"
    )


def _error(answer: HttpAnswer, told: Any) -> ChannelError:
    status, is_theirs = answer.status, isinstance(told, dict) and "status_code" in told
    reason = printable_line(str(told.get("message", "")), MAX_REASON_CHARS) if is_theirs else ""
    if status == _TOO_MANY:
        wait_s = _seconds(answer.header("x-ratelimit-reset") or answer.header("retry-after"))
        return ChannelUnavailable("Mattermost was asked too often", retry_after_s=wait_s)
    if status == _UNAUTHORIZED:
        return unknown_bot()
    if status >= _SERVER_ERRORS:
        return ChannelUnavailable(f"Mattermost's server is in trouble (HTTP {status})")
    if not is_theirs and status != 413:  # noqa: PLR2004 - a proxy says so of large files too
        return ChannelUnavailable(
            f"{answer.host} answers {status} as no Mattermost server does: "
            "look at channels.mattermost.base_url"
        )
    return ApiRefused(status, reason)


async def _content(answer: HttpAnswer) -> bytes:
    content = bytearray()
    while piece := await answer.read():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ChannelUnavailable("Mattermost sent an answer that is too long")
    return bytes(content)


def _read(content: bytes) -> Any:
    """None of a page that something in between has sent."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _seconds(told: str) -> float:
    is_number = told.isascii() and told.isdigit() and len(told) < 5  # noqa: PLR2004 - no dates
    return min(float(told), MAX_RETRY_S) if is_number else DEFAULT_RETRY_S
