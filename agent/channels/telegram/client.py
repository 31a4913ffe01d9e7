"""Client of the Bot API, and the meaning of its refusals.

The only module that knows addresses and the envelope; the token is never part of an error.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from agent.channels import rest
from agent.channels.multipart import MultipartForm
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

# Many times the longest update; a hundred of those may be more, and are asked for in smaller lots
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# Telegram's servers fetch a page whose address stands in a text, and the address with it
_SHOWS_PREVIEWS = frozenset({"sendMessage", "editMessageText"})
_QUIET: Mapping[str, object] = {"link_preview_options": {"is_disabled": True}}


class TelegramRefused(MessageRefused):
    """The server understood the request and refuses it.

    Args:
        migrated_to: the chat has this id from now on; None where it has not changed.
    """

    def __init__(self, method: str, description: str, migrated_to: int | None = None) -> None:
        super().__init__(f"Telegram refused {method}: {description or 'without a reason'}")
        self.description = description.lower()
        self.migrated_to = migrated_to

    def says(self, *clues: str) -> bool:
        return any(clue in self.description for clue in clues)


class TelegramApi:
    """Client of one bot.

    Args:
        base_url: of a server of one's own; it has every method that it knows under it.
    """

    def __init__(self, token: Secret, base_url: str, http: HttpClient) -> None:
        self._token = token
        self._base_url = base_url.rstrip("/")
        self._http = http

    async def call(
        self, method: str, parameters: Mapping[str, object], timeout_s: float = rest.CALL_TIMEOUT_S
    ) -> Any:
        """Call a method and return its result.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            AnswerTooLong: there is too much of its result.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        is_poll = method == "getUpdates"
        url = self._url(method)
        told = {**parameters, **_QUIET} if method in _SHOWS_PREVIEWS else parameters
        request = rest.json_request("POST", url, {}, told, is_held_open=is_poll)
        return await self._result(method, request, timeout_s)

    async def upload(
        self, method: str, parameters: Mapping[str, object], field: str, file: Attachment
    ) -> Any:
        """Call with a file in the field; else like `call`."""
        form = MultipartForm(parameters, field, file)
        request = HttpRequest("POST", self._url(method), form.headers, form.pieces())
        return await self._result(method, request, rest.UPLOAD_TIMEOUT_S)

    def download(self, file_path: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a file, by the path from `getFile`.

        Raises:
            ChannelUnavailable: it is not to be had now.
        """
        url = f"{self._base_url}/file/bot{self._token.reveal()}/{file_path}"
        return rest.file_from(self._http, HttpRequest("GET", url))

    def _url(self, method: str) -> str:
        return f"{self._base_url}/bot{self._token.reveal()}/{method}"

    async def _result(self, method: str, request: HttpRequest, timeout_s: float) -> Any:
        reply = await rest.asked(self._http, request, timeout_s, MAX_ANSWER_BYTES)
        if reply.fields.get("ok") is True:
            return reply.fields.get("result")
        raise _error(method, reply)


def _error(method: str, reply: rest.RestReply) -> ChannelError:
    told = reply.fields
    if "ok" not in told:
        return ChannelUnavailable(f"Telegram's server is in trouble (HTTP {reply.status})")
    code = told.get("error_code")
    code = code if isinstance(code, int) else reply.status
    reason = rest.reason_in(told.get("description"))
    parameters = told.get("parameters")
    more: Mapping[str, Any] = parameters if isinstance(parameters, dict) else {}
    if code == rest.TOO_MANY:
        wait_s = rest.seconds(more.get("retry_after"))
        text = f"Telegram asks to be left alone for {wait_s:.0f} s"
        return ChannelUnavailable(text, retry_after_s=wait_s)
    if code >= rest.SERVER_ERRORS:
        return ChannelUnavailable(f"Telegram's server is in trouble ({code} {reason})")
    # A method that a server does not have is 404 too, and says so
    if code == rest.UNAUTHORIZED or (code == rest.NOT_FOUND and "method" not in reason.lower()):
        return ChannelRefused(
            f"Telegram does not know this bot ({code}): check the token in "
            "channels.telegram, or ask @BotFather for a new one"
        )
    if code == rest.CONFLICT:
        return ChannelRefused(_conflict(reason))
    moved = more.get("migrate_to_chat_id")
    return TelegramRefused(method, reason, moved if isinstance(moved, int) else None)


def _conflict(reason: str) -> str:
    if "webhook" in reason.lower():
        return (
            "a webhook is set for this Telegram bot, so that nothing comes here: "
            "delete it (method deleteWebhook), or use a bot of your own for this device"
        )
    return (
        "another program uses this Telegram bot: stop it, or use a bot of your own for this device"
    )
