"""Client of Slack's Web API, and the meaning of its refusals.

The only module that knows addresses and codes; no token is ever part of an error, and none goes to
a host that is not Slack's.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from agent.channels import rest
from agent.channels.file_stream import uploaded
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

_PIECE_BYTES = 64 * 1024
_JSON = {"content-type": "application/json; charset=utf-8"}
_FORM = {"content-type": "application/x-www-form-urlencoded"}
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
# Without these nothing can be heard, whatever the reason is, or said
_LISTENING = frozenset({"apps.connections.open", "auth.test"})
_VITAL = frozenset({*_LISTENING, "chat.postMessage"})


class SlackRefused(MessageRefused):
    """The server understood the request and refuses it.

    Args:
        code: Slack's own.
    """

    def __init__(self, method: str, code: str, needed: str = "") -> None:
        words = _scope(needed) if code == "missing_scope" else _REASONS.get(code, "")
        told = f"{code}: {words}" if words else code or "without a reason"
        super().__init__(f"Slack refused {method} ({told})")
        self.code = code


class SlackTokens(Struct, frozen=True):
    """Tokens of the app in its workspace (`bot`, xoxb-) and of the app itself (`app`, xapp-).

    Args:
        app: empty where the app opens no connections.
    """

    bot: Secret
    app: Secret


class SlackApi:
    """Calls on an app's behalf.

    Args:
        base_url: where the API is, without its path.
    """

    def __init__(self, tokens: SlackTokens, base_url: str, http: HttpClient) -> None:
        self._tokens = tokens
        self._base_url = base_url.rstrip("/")
        self._http = http

    async def call(self, method: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Call the server and return its answer.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        headers = {**_JSON, **_authorized(self._tokens.bot)}
        return await self._told(
            method, rest.json_request("POST", self._url(method), headers, parameters)
        )

    async def ask(self, method: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Call a method that takes no JSON."""
        headers = {**_FORM, **_authorized(self._tokens.bot)}
        content = urlencode(parameters).encode("ascii")
        return await self._told(method, HttpRequest("POST", self._url(method), headers, content))

    async def socket_url(self) -> str:
        """Return the address of a socket, good for one connection.

        Raises:
            ChannelError: see `call`.
        """
        method = "apps.connections.open"
        headers = _authorized(self._tokens.app)
        told = await self._told(method, HttpRequest("POST", self._url(method), headers))
        url = told.get("url")
        # A fake or a proxy of one's own on this machine has no certificate, Slack has
        schemes = ("wss://",) if self._base_url.startswith("https://") else ("wss://", "ws://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise ChannelUnavailable("Slack gave no usable address for Socket Mode")
        return url

    async def upload(self, url: str, path: Path, size_bytes: int) -> None:
        """Upload a file to the given address; no token goes there.

        Raises:
            ChannelError: it was not taken.
        """
        if not self._is_theirs(url):
            raise ChannelUnavailable("Slack gave an upload address that is not Slack's")
        headers = {
            "content-type": "application/octet-stream",
            "content-length": str(size_bytes),
        }
        request = HttpRequest("POST", url, headers, uploaded(path, size_bytes))
        reply = await rest.asked(self._http, request, rest.UPLOAD_TIMEOUT_S)
        if reply.status == rest.TOO_MANY:
            raise _asked_too_often(reply)
        if reply.status != rest.OK:
            raise ChannelUnavailable(f"Slack answered {reply.status} to a file upload")

    def download(self, url: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a file by its address; the token goes to Slack alone.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        if not self._is_theirs(url):
            raise ChannelUnavailable("the file is not on Slack's server")
        return rest.file_from(self._http, HttpRequest("GET", url, _authorized(self._tokens.bot)))

    def _url(self, method: str) -> str:
        return f"{self._base_url}/api/{method}"

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

    async def _told(self, method: str, request: HttpRequest) -> dict[str, Any]:
        reply = await rest.asked(self._http, request)
        if reply.status == rest.TOO_MANY:
            raise _asked_too_often(reply)
        if reply.status >= rest.SERVER_ERRORS or "ok" not in reply.fields:
            raise ChannelUnavailable(f"Slack has a server error (HTTP {reply.status})")
        if reply.fields["ok"] is True:
            return reply.fields
        raise _error(method, reply.fields)


def _authorized(token: Secret) -> dict[str, str]:
    return {"authorization": f"Bearer {token.reveal()}"}


def _error(method: str, told: Mapping[str, Any]) -> ChannelError:
    code = rest.reason_in(told.get("error"))
    needed = rest.reason_in(told.get("needed"))
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
    if method in _LISTENING:
        return ChannelRefused(
            f"Slack refuses {method} ({code or 'without a reason'}): look at the app at "
            "https://api.slack.com/apps, and whether its workspace still lets it in"
        )
    return SlackRefused(method, code, needed)


def _scope(needed: str) -> str:
    return (
        f"the app lacks the right {needed or 'for it'}: add it on its page OAuth & Permissions at "
        "https://api.slack.com/apps and install the app again"
    )


def _asked_too_often(reply: rest.RestReply) -> ChannelUnavailable:
    wait_s = rest.seconds(reply.header("retry-after"))
    text = f"Slack asks to be left alone for {wait_s:.0f} s"
    return ChannelUnavailable(text, retry_after_s=wait_s)
