"""One call of Discord's REST API, and what its refusals mean for whoever called.

The only module that knows addresses and codes; the token is never part of an error.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent import __version__
from agent.channels.discord.limits import Limits, asked_too_often, seconds
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

# The servers answer in a fraction of it; a phone network in between takes its time
CALL_TIMEOUT_S = 15.0
# Sending a large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# No answer to anything that we ask is longer
MAX_ANSWER_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200
# Requests of programs that do not say who they are so are turned away
AGENT = f"DiscordBot (https://localhost/barnacle, {__version__})"
# Where files are handed out; anything else would be an address that a message chose
FILE_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
_VERSION = "/api/v10"

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY, _SERVER_ERRORS = 401, 403, 429, 500
# By Discord's own codes, where a person can do something about it
_REASONS = {
    50001: "the bot has no access to that channel: let it see the channel",
    50007: "this person takes no messages from the bot: they must share a server with it and allow "
    "messages from its members",
    50013: "the bot lacks a right in that channel: let it send messages and files, read the past "
    "and add reactions",
}


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it.

    Args:
        code: Discord's own; 0 where it said none.
    """

    def __init__(self, status: int, code: int, reason: str) -> None:
        words = _REASONS.get(code) or reason or "without a reason"
        super().__init__(f"Discord refused it ({status}/{code}): {words}")
        self.status = status
        self.code = code

    @property
    def is_forbidden(self) -> bool:
        return self.status == _FORBIDDEN


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    told: Any
    retry_after: str


class DiscordApi:
    """Calls on a bot's behalf.

    Args:
        base_url: where the API is, without its path.
    """

    def __init__(self, token: Secret, base_url: str, http: HttpClient, limits: Limits) -> None:
        self.token = token
        self.base_url = base_url.rstrip("/")
        self.limits = limits
        self._http = http

    @property
    def account(self) -> str:
        """The part of the token that is no secret: which bot it is of."""
        return self.token.reveal().partition(".")[0]

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """What the server told; None where it told nothing.

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
        return await self._asked(request, path, CALL_TIMEOUT_S)

    async def upload(self, path: str, body: Mapping[str, object], file: Attachment) -> Any:
        """As `call` with POST, with a file."""
        form = Form({"payload_json": body}, "files[0]", file)
        headers = {**self._headers(), **form.headers}
        request = HttpRequest("POST", self._url(path), headers, form.pieces())
        return await self._asked(request, path, UPLOAD_TIMEOUT_S)

    @asynccontextmanager
    async def download(self, url: str) -> AsyncIterator[HttpAnswer]:
        """A file, by the address that its message told; the token does not go there.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        place = urlsplit(url)
        is_theirs = place.scheme == "https" and place.netloc in FILE_HOSTS
        if not is_theirs and not url.startswith(f"{self.base_url}/"):
            raise ChannelUnavailable("it is not where Discord keeps files")
        try:
            async with self._http.exchange(HttpRequest("GET", url)) as answer:
                if answer.status != 200:  # noqa: PLR2004 - what HTTP calls OK
                    raise ChannelUnavailable(f"Discord answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _url(self, path: str) -> str:
        return f"{self.base_url}{_VERSION}{path}"

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bot {self.token.reveal()}", "user-agent": AGENT}

    async def _asked(self, request: HttpRequest, path: str, timeout_s: float) -> Any:
        self.limits.demand(request.method, path)
        reply = await self._exchange(request, path, timeout_s)
        if reply.status < 300:  # noqa: PLR2004 - what HTTP calls success
            return reply.told
        raise self._error(request.method, path, reply)

    async def _exchange(self, request: HttpRequest, path: str, timeout_s: float) -> _Reply:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                self.limits.note(request.method, path, answer)
                content = bytearray()
                while piece := await answer.read():
                    content += piece
                    if len(content) > MAX_ANSWER_BYTES:
                        raise ChannelUnavailable("Discord sent an answer that is too long")
                return _Reply(answer.status, _read(content), answer.header("retry-after"))
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _error(self, method: str, path: str, reply: _Reply) -> ChannelError:
        told = reply.told if isinstance(reply.told, dict) else {}
        code = told.get("code")
        code = code if isinstance(code, int) else 0
        reason = printable_line(str(told.get("message") or ""), MAX_REASON_CHARS)
        if reply.status == _TOO_MANY:
            wait_s = seconds(told.get("retry_after"), seconds(reply.retry_after))
            self.limits.refused(method, path, wait_s, is_global=told.get("global") is True)
            return asked_too_often(wait_s)
        if reply.status == _UNAUTHORIZED:
            return unknown_bot()
        if reply.status >= _SERVER_ERRORS or not told:
            return ChannelUnavailable(f"Discord's server is in trouble (HTTP {reply.status})")
        return ApiRefused(reply.status, code, reason)


def unknown_bot() -> ChannelRefused:
    return ChannelRefused(
        "Discord does not know this bot: check the token in channels.discord, or reset it on the "
        "page Bot of the application at https://discord.com/developers/applications"
    )


def _read(content: bytearray) -> Any:
    """None of a page that something in between has sent."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
