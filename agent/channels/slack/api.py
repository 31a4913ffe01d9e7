"""One call of Slack's Web API, and what its refusals mean for whoever called.

The only module that knows addresses and codes; no token is ever part of an error, and none goes to
a host that is not Slack's.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

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

# The servers answer in a fraction of it; a phone network in between takes its time
CALL_TIMEOUT_S = 15.0
# Sending a large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# No answer to anything that we ask is longer
MAX_ANSWER_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200
# Where the platform asked for none but was asked too often
DEFAULT_RETRY_S = 5.0
# Nothing that is asked for is further away, and a hostile number must not silence us for ever
MAX_RETRY_S = 3600.0
_PIECE_BYTES = 64 * 1024
_OK, _TOO_MANY, _SERVER_ERRORS = 200, 429, 500
# Slack knows the token no more, or never did
_UNKNOWN = frozenset(
    (
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "user_removed_from_team",
        "team_access_not_granted",
    )
)
_LATER = frozenset(
    (
        "ratelimited",
        "rate_limited",
        "internal_error",
        "fatal_error",
        "service_unavailable",
        "request_timeout",
        "team_added_to_org",
        "message_limit_exceeded",
    )
)
# By Slack's own codes, where a person can do something about it
_REASONS = {
    "not_in_channel": "the app is not in that channel: say /invite and its name there",
    "channel_not_found": "the app does not see that channel: say /invite and its name there",
    "is_archived": "that channel is archived",
    "msg_too_long": "the message is too long",
    "restricted_action": "the workspace lets only some people write there",
}
# Without these nothing can be heard or said
_VITAL = frozenset({"apps.connections.open", "auth.test", "chat.postMessage"})


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it.

    Args:
        code: Slack's own.
    """

    def __init__(self, method: str, code: str, needed: str = "") -> None:
        words = _scope(needed) if code == "missing_scope" else _REASONS.get(code, "")
        told = f"{code}: {words}" if words else code or "without a reason"
        super().__init__(f"Slack refused {method} ({told})")
        self.code = code


@dataclass(frozen=True, slots=True)
class Tokens:
    """Of the app in its workspace (`bot`, xoxb-), and of the app itself (`app`, xapp-)."""

    bot: Secret
    app: Secret


class SlackApi:
    """Calls on an app's behalf.

    Args:
        base_url: where the API is, without its path.
    """

    def __init__(self, tokens: Tokens, base_url: str, http: HttpClient) -> None:
        self._tokens = tokens
        self._base_url = base_url.rstrip("/")
        self._http = http

    async def call(self, method: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        """What the server told.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        content = json.dumps(parameters, ensure_ascii=False).encode("utf-8", "replace")
        return await self._post(method, content, "application/json; charset=utf-8")

    async def ask(self, method: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """As `call`, of methods that read no JSON."""
        content = urlencode(parameters).encode("ascii")
        return await self._post(method, content, "application/x-www-form-urlencoded")

    async def socket_url(self) -> str:
        """Where the app is to listen; good for one connection.

        Raises:
            ChannelError: see `call`.
        """
        told = await self._post("apps.connections.open", b"", "", self._tokens.app)
        url = told.get("url")
        # A fake or a proxy of one's own on this machine has no certificate, Slack has
        schemes = ("wss://",) if self._base_url.startswith("https://") else ("wss://", "ws://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise ChannelUnavailable("Slack told no address to listen at")
        return url

    async def upload(self, url: str, path: Path, size_bytes: int) -> None:
        """A file's bytes, to the address that was given for them; no token goes there.

        Raises:
            ChannelError: it was not taken.
        """
        if not self._is_theirs(url):
            raise ChannelUnavailable("Slack told an address for a file that is not Slack's")
        headers = {
            "content-type": "application/octet-stream",
            "content-length": str(size_bytes),
        }
        request = HttpRequest("POST", url, headers, _pieces(path, size_bytes))
        status, _, wait = await self._exchange(request, UPLOAD_TIMEOUT_S)
        if status == _TOO_MANY:
            raise _asked_too_often(wait)
        if status != _OK:
            raise ChannelUnavailable(f"Slack answered {status} to a file")

    @asynccontextmanager
    async def download(self, url: str) -> AsyncIterator[HttpAnswer]:
        """A file, by the address that its message told; the token goes to Slack alone.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        if not self._is_theirs(url):
            raise ChannelUnavailable("it is not where Slack keeps files")
        request = HttpRequest("GET", url, _authorized(self._tokens.bot))
        try:
            async with self._http.exchange(request) as answer:
                if answer.status != _OK:
                    raise ChannelUnavailable(f"Slack answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _is_theirs(self, url: str) -> bool:
        if url.startswith(f"{self._base_url}/"):
            return True
        try:
            place = urlsplit(url)
            host, port = place.hostname or "", place.port
        except ValueError:
            return False
        is_slack = host == "slack.com" or host.endswith(".slack.com")
        return place.scheme == "https" and is_slack and port is None and "@" not in place.netloc

    async def _post(
        self, method: str, content: bytes, kind: str, token: Secret | None = None
    ) -> dict[str, Any]:
        headers = _authorized(token or self._tokens.bot)
        if kind:
            headers["content-type"] = kind
        request = HttpRequest("POST", f"{self._base_url}/api/{method}", headers, content)
        status, body, wait = await self._exchange(request, CALL_TIMEOUT_S)
        if status == _TOO_MANY:
            raise _asked_too_often(wait)
        told = _read(body)
        if status >= _SERVER_ERRORS or told is None:
            raise ChannelUnavailable(f"Slack's server is in trouble (HTTP {status})")
        if told["ok"] is True:
            return told
        raise _error(method, told)

    async def _exchange(self, request: HttpRequest, timeout_s: float) -> tuple[int, bytes, str]:
        """Status, body, and how long we are to wait."""
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                content = bytearray()
                while piece := await answer.read():
                    content += piece
                    if len(content) > MAX_ANSWER_BYTES:
                        raise ChannelUnavailable("Slack sent an answer that is too long")
                return answer.status, bytes(content), answer.header("retry-after")
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def _authorized(token: Secret) -> dict[str, str]:
    return {"authorization": f"Bearer {token.reveal()}"}


def _read(content: bytes) -> dict[str, Any] | None:
    """The answer's object; None of a page that something in between has sent."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and "ok" in told else None


def _error(method: str, told: Mapping[str, Any]) -> ChannelError:
    code = printable_line(str(told.get("error") or ""), MAX_REASON_CHARS)
    needed = printable_line(str(told.get("needed") or ""), MAX_REASON_CHARS)
    if code in _LATER:
        return ChannelUnavailable(f"Slack does nothing for us now ({code})")
    if code in _UNKNOWN:
        key = "app_token" if method == "apps.connections.open" else "token"
        return ChannelRefused(
            f"Slack does not take channels.slack.{key} ({code}): look at the app at "
            "https://api.slack.com/apps, install it again where that is asked, and set the new one"
        )
    if code == "missing_scope" and method in _VITAL:
        return ChannelRefused(f"Slack refuses {method}: {_scope(needed)}")
    return ApiRefused(method, code, needed)


def _scope(needed: str) -> str:
    return (
        f"the app lacks the right {needed or 'for it'}: add it on its page OAuth & Permissions at "
        "https://api.slack.com/apps and install the app again"
    )


def _asked_too_often(retry_after: str) -> ChannelUnavailable:
    wait_s = float(retry_after) if retry_after.isdigit() else DEFAULT_RETRY_S
    wait_s = min(wait_s, MAX_RETRY_S)
    text = f"Slack asks to be left alone for {wait_s:.0f} s"
    return ChannelUnavailable(text, retry_after_s=wait_s)


async def _pieces(path: Path, size_bytes: int) -> AsyncGenerator[bytes, None]:
    """As much as was announced, however the file changes meanwhile."""
    left = size_bytes
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while left:
            piece = await asyncio.to_thread(file.read, min(_PIECE_BYTES, left))
            if not piece:
                raise OSError("a file became shorter while it was sent")
            left -= len(piece)
            yield piece
    finally:
        file.close()
