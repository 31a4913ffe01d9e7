"""One call of the Bot API, and what its refusals mean for whoever called.

The only module that knows addresses and the envelope; the token is never part of an error.
"""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
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

_log = logging.getLogger(__name__)

# The servers answer in a fraction of it; a phone network in between takes its time
CALL_TIMEOUT_S = 15.0
# Sending a large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# A hundred updates with long texts are well below; what is longer is no answer of this API
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# A refusal in words; a page of HTML from something in between is cut here
MAX_REASON_CHARS = 200
# Where the platform asked for none but was asked too often
DEFAULT_RETRY_S = 5.0
# Nothing that is asked for is further away, and a hostile number must not silence a chat for ever
MAX_RETRY_S = 3600.0

_JSON = {"content-type": "application/json"}
_UNAUTHORIZED, _CONFLICT, _TOO_MANY = 401, 409, 429
_NOT_FOUND = 404
_SERVER_ERRORS = 500


class ApiRefused(MessageRefused):
    """The server understood a request and will not do it.

    Args:
        migrated_to: the chat has this id from now on; None where it has not changed.
    """

    def __init__(self, method: str, description: str, migrated_to: int | None = None) -> None:
        super().__init__(f"Telegram refused {method}: {description or 'without a reason'}")
        self.description = description.lower()
        self.migrated_to = migrated_to

    def says(self, *clues: str) -> bool:
        return any(clue in self.description for clue in clues)


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    content: bytes


class TelegramApi:
    """Calls methods.

    Args:
        base_url: of a server of one's own; it has every method that it knows under it.
    """

    def __init__(self, token: Secret, base_url: str, http: HttpClient) -> None:
        self._token = token
        self._base_url = base_url.rstrip("/")
        self._http = http

    async def call(
        self, method: str, parameters: Mapping[str, object], timeout_s: float = CALL_TIMEOUT_S
    ) -> Any:
        """The result.

        Raises:
            ChannelUnavailable: no network, a server in trouble, or asked too often.
            ChannelRefused: a person has to act.
            ApiRefused: this request is not granted.
        """
        content = json.dumps(parameters, ensure_ascii=False).encode("utf-8", "replace")
        is_poll = method == "getUpdates"
        request = HttpRequest("POST", self._url(method), _JSON, content, is_held_open=is_poll)
        return _result(method, await self._exchange(request, timeout_s))

    async def upload(
        self, method: str, parameters: Mapping[str, object], field: str, file: Attachment
    ) -> Any:
        """As `call`, with a file in the field."""
        form = Form(parameters, field, file)
        request = HttpRequest("POST", self._url(method), form.headers, form.pieces())
        return _result(method, await self._exchange(request, UPLOAD_TIMEOUT_S))

    @asynccontextmanager
    async def download(self, file_path: str) -> AsyncIterator[HttpAnswer]:
        """A file, by the path that `getFile` told.

        Raises:
            ChannelUnavailable: it is not to be had now.
        """
        url = f"{self._base_url}/file/bot{self._token.reveal()}/{file_path}"
        try:
            async with self._http.exchange(HttpRequest("GET", url)) as answer:
                if answer.status != 200:  # noqa: PLR2004 - what HTTP calls OK
                    raise ChannelUnavailable(f"Telegram answered {answer.status} to a download")
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    def _url(self, method: str) -> str:
        return f"{self._base_url}/bot{self._token.reveal()}/{method}"

    async def _exchange(self, request: HttpRequest, timeout_s: float) -> _Reply:
        try:
            async with self._http.exchange(request, timeout_s) as answer:
                content = bytearray()
                while piece := await answer.read():
                    content += piece
                    if len(content) > MAX_ANSWER_BYTES:
                        raise ChannelUnavailable("Telegram sent an answer that is too long")
                return _Reply(answer.status, bytes(content))
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def _result(method: str, reply: _Reply) -> Any:
    envelope = _envelope(reply.content)
    if envelope is None:
        raise ChannelUnavailable(f"Telegram's server is in trouble (HTTP {reply.status})")
    if envelope.get("ok") is True:
        return envelope.get("result")
    raise _error(method, reply.status, envelope)


def _envelope(content: bytes) -> dict[str, Any] | None:
    """The answer's object; None of a page that something in between has sent."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and "ok" in told else None


def _error(method: str, status: int, envelope: Mapping[str, Any]) -> ChannelError:
    code = envelope.get("error_code")
    code = code if isinstance(code, int) else status
    reason = printable_line(str(envelope.get("description") or ""), MAX_REASON_CHARS)
    parameters = envelope.get("parameters")
    more: Mapping[str, Any] = parameters if isinstance(parameters, dict) else {}
    if code == _TOO_MANY:
        wait_s = _seconds(more.get("retry_after"))
        text = f"Telegram asks to be left alone for {wait_s:.0f} s"
        return ChannelUnavailable(text, retry_after_s=wait_s)
    if code >= _SERVER_ERRORS:
        return ChannelUnavailable(f"Telegram's server is in trouble ({code} {reason})")
    # A method that a server does not have is 404 too, and says so
    if code == _UNAUTHORIZED or (code == _NOT_FOUND and "method" not in reason.lower()):
        return ChannelRefused(
            f"Telegram does not know this bot ({code}): check the token in "
            "channels.telegram, or ask @BotFather for a new one"
        )
    if code == _CONFLICT:
        return ChannelRefused(_conflict(reason))
    moved = more.get("migrate_to_chat_id")
    return ApiRefused(method, reason, moved if isinstance(moved, int) else None)


def _seconds(told: object) -> float:
    is_number = isinstance(told, int | float) and not isinstance(told, bool) and told > 0
    return min(float(told), MAX_RETRY_S) if is_number else DEFAULT_RETRY_S  # type: ignore[arg-type]  # is_number says it


def _conflict(reason: str) -> str:
    if "webhook" in reason.lower():
        return (
            "a webhook is set for this Telegram bot, so that nothing comes here: "
            "delete it (method deleteWebhook), or use a bot of your own for this device"
        )
    return (
        "another program uses this Telegram bot: stop it, or use a bot of your own for this device"
    )
