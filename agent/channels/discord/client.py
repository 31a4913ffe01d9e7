"""Client of Discord's REST API, and the meaning of its refusals.

The only module that knows addresses and codes; the token is never part of an error.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

from agent import __version__
from agent.channels import rest
from agent.channels.discord.rate_limits import DiscordRateLimits, asked_too_often
from agent.channels.multipart import MultipartForm
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

# Requests of programs that do not say who they are so are turned away
AGENT = f"DiscordBot (https://localhost/barnacle, {__version__})"
# Where files are handed out; anything else would be an address that a message chose
FILE_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
_VERSION = "/api/v10"

# An archived thread is opened by a message, so that both mean: it is locked
_THREAD_ARCHIVED, _THREAD_LOCKED = 50083, 160005
_LOCKED = "the thread is locked: unlock it, or give the bot the right Manage Threads"
# By Discord's own codes, where a person can do something about it
_REASONS = {
    50001: "the bot has no access to that channel: let it see the channel",
    50007: "this person takes no messages from the bot: they must share a server with it and allow "
    "messages from its members",
    50013: "the bot lacks a right in that channel: let it send messages and files, read the past "
    "and add reactions",
    _THREAD_ARCHIVED: _LOCKED,
    _THREAD_LOCKED: _LOCKED,
}


class DiscordRefused(MessageRefused):
    """The server understood the request and refuses it.

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
        return self.status == rest.FORBIDDEN

    @property
    def is_locked_thread(self) -> bool:
        return self.code in {_THREAD_ARCHIVED, _THREAD_LOCKED}


class DiscordApi:
    """Calls on a bot's behalf.

    Args:
        base_url: where the API is, without its path.
    """

    def __init__(
        self, token: Secret, base_url: str, http: HttpClient, limits: DiscordRateLimits
    ) -> None:
        self.token = token
        self.base_url = base_url.rstrip("/")
        self.limits = limits
        self._http = http

    @property
    def account(self) -> str:
        """Return the part of the token that names the bot and is no secret."""
        return self.token.reveal().partition(".")[0]

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the server and return its answer; None if it is empty.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        request = rest.json_request(method, self._url(path), self._headers(), body)
        return await self._asked(request, path, rest.CALL_TIMEOUT_S)

    async def upload(self, path: str, body: Mapping[str, object], file: Attachment) -> Any:
        """Call with POST and a file; else like `call`."""
        form = MultipartForm({"payload_json": body}, "files[0]", file)
        headers = {**self._headers(), **form.headers}
        request = HttpRequest("POST", self._url(path), headers, form.pieces())
        return await self._asked(request, path, rest.UPLOAD_TIMEOUT_S)

    def download(self, url: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a file by its address; the token is not sent there.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        place = urlsplit(url)
        is_theirs = place.scheme == "https" and place.netloc in FILE_HOSTS
        if not is_theirs and not url.startswith(f"{self.base_url}/"):
            raise ChannelUnavailable("the file is not on Discord's server")
        return rest.file_from(self._http, HttpRequest("GET", url))

    def _url(self, path: str) -> str:
        return f"{self.base_url}{_VERSION}{path}"

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bot {self.token.reveal()}", "user-agent": AGENT}

    async def _asked(self, request: HttpRequest, path: str, timeout_s: float) -> Any:
        self.limits.demand(request.method, path)
        async with rest.answering(self._http, request, timeout_s) as answer:
            self.limits.note(request.method, path, answer)
            reply = await rest.whole(answer)
        if reply.status < 300:  # noqa: PLR2004 - what HTTP calls success
            return reply.told
        raise self._error(request.method, path, reply)

    def _error(self, method: str, path: str, reply: rest.RestReply) -> ChannelError:
        told = reply.fields
        code = told.get("code")
        code = code if isinstance(code, int) else 0
        if reply.status == rest.TOO_MANY:
            header_s = rest.seconds(reply.header("retry-after"))
            wait_s = rest.seconds(told.get("retry_after"), header_s)
            self.limits.refused(method, path, wait_s, is_global=told.get("global") is True)
            return asked_too_often(wait_s)
        if reply.status == rest.UNAUTHORIZED:
            return unknown_bot()
        if reply.status >= rest.SERVER_ERRORS or not told:
            return ChannelUnavailable(f"Discord's server is in trouble (HTTP {reply.status})")
        return DiscordRefused(reply.status, code, rest.reason_in(told.get("message")))


def unknown_bot() -> ChannelRefused:
    return ChannelRefused(
        "Discord does not know this bot: check the token in channels.discord, or reset it on the "
        "page Bot of the application at https://discord.com/developers/applications"
    )
