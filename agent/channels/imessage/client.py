"""Client of a BlueBubbles server, and the meaning of its refusals.

The only module that knows addresses. The password is a part of each of them, as the server will
have it: no address gets into an error or a log.
"""

import logging
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from agent.channels import rest
from agent.channels.imessage.events import BlueBubblesInfo, ImessageMessage, ImessageSent
from agent.channels.multipart import MultipartForm
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

_log = logging.getLogger(__name__)

# The server waits up to a minute for Messages to show what was sent
SEND_TIMEOUT_S = 65.0
# Three minutes is what it waits for a file
UPLOAD_TIMEOUT_S = 180.0
# A window of messages with what Apple says around each is some hundred KB
MAX_ANSWER_BYTES = 8 * 1024 * 1024
# Messages that are told at once; the server would tell a thousand
PAGE = 200
# A message that is on its way is there, or has failed, by then
QUEUED_RETRY_S = 30.0
_QUEUED = "already queued"
_T = TypeVar("_T")


class BlueBubblesApi:
    """Client of one server.

    Args:
        base_url: without the path of the API.
    """

    def __init__(self, base_url: str, password: Secret, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self._password = password
        self._http = http

    async def info(self) -> BlueBubblesInfo:
        """Return the server's description and if it has Apple's private interface."""
        return _read(await self._call("GET", "/server/info"), BlueBubblesInfo)

    async def newest(self) -> ImessageMessage | None:
        """Return the message with the latest time; None if there is none."""
        return next(iter(await self._query({"sort": "DESC", "limit": 1})), None)

    async def after(self, row: int, known: int) -> tuple[ImessageMessage, ...]:
        """Return the next messages that the Mac received after that row, without gaps.

        The server sorts by when a message was written, and not by when it came: where there are
        more than it tells at once, windows of rows are asked for, each of which it tells whole.

        Args:
            known: up to there nothing is new.
        """
        try:
            found = await self._query(_rows(row))
        except rest.AnswerTooLong:
            found = await self._in_windows(row, known)
        else:
            if len(found) == PAGE:
                found = await self._in_windows(row, known)
        return tuple(sorted(found, key=lambda one: one.row))

    async def _in_windows(self, row: int, known: int) -> tuple[ImessageMessage, ...]:
        """Return the first window of rows that has something new; empty if none has."""
        width = PAGE
        while True:
            try:
                found = await self._query(_rows(row, row + width))
            except rest.AnswerTooLong:
                if width > 1:
                    width //= 2
                    continue
                found = (_skipped(row + 1, "too long for an answer"),)
            row += width
            if any(one.row > known for one in found):
                return found
            if not found and not await self._has_more(row):
                return found

    async def _has_more(self, row: int) -> bool:
        try:
            return bool(await self._query({**_rows(row), "limit": 1}))
        except rest.AnswerTooLong:
            return True

    async def in_chat(self, chat: str, row: int) -> tuple[ImessageMessage, ...]:
        """Return the latest messages of one chat after that row."""
        return await self._query({"chatGuid": chat, "sort": "DESC", **_rows(row)})

    async def say(self, told: dict[str, object]) -> ImessageSent:
        """Send a text; return when Messages has it.

        Raises:
            ChannelError: it has not, or that is not known.
        """
        return _read(await self._call("POST", "/message/text", told, SEND_TIMEOUT_S), ImessageSent)

    async def upload(self, told: dict[str, object], file: Attachment) -> ImessageSent:
        """Send a file; return when Messages has it."""
        form = MultipartForm(told, "attachment", file)
        request = HttpRequest("POST", self._url("/message/attachment"), form.headers, form.pieces())
        return _read(await self._asked(request, UPLOAD_TIMEOUT_S), ImessageSent)

    def download(self, guid: str) -> AbstractAsyncContextManager[HttpAnswer]:
        """Yield the content of a file, converted to a format that others than Apple read.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        request = HttpRequest("GET", self._url(f"/attachment/{quote(guid, safe='')}/download"))
        return rest.file_from(self._http, request, rest.CALL_TIMEOUT_S)

    async def _query(self, asked: dict[str, object]) -> tuple[ImessageMessage, ...]:
        body = {"with": ["chats", "attachments"], "sort": "ASC", "limit": PAGE, **asked}
        told = _read(await self._call("POST", "/message/query", body), list[dict[str, Any]])
        return tuple(_message(one) for one in told)

    async def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        timeout_s: float = rest.CALL_TIMEOUT_S,
    ) -> Any:
        return await self._asked(rest.json_request(method, self._url(path), {}, body), timeout_s)

    def _url(self, path: str) -> str:
        password = quote(self._password.reveal(), safe="")
        return f"{self._base_url}/api/v1{path}?password={password}"

    async def _asked(self, request: HttpRequest, timeout_s: float) -> Any:
        reply = await rest.asked(self._http, request, timeout_s, MAX_ANSWER_BYTES)
        if reply.status != rest.OK:
            raise _trouble(reply)
        return reply.fields.get("data")


def _rows(first: int, last: int | None = None) -> dict[str, object]:
    """Return the query for these rows, in the form of the server's own programs."""
    where: list[object] = [
        {"statement": "message.ROWID > :startRowId", "args": {"startRowId": first}}
    ]
    if last is not None:
        where.append({"statement": "message.ROWID <= :endRowId", "args": {"endRowId": last}})
    return {"where": where}


def _trouble(reply: rest.RestReply) -> ChannelError:
    error = reply.fields.get("error")
    reason = rest.reason_in(error.get("message")) if isinstance(error, dict) else ""
    said = f"{reply.host} answered {reply.status}{f' ({reason})' if reason else ''}"
    if reply.status in (rest.UNAUTHORIZED, rest.FORBIDDEN):
        return ChannelRefused(
            f"{said}: set channels.imessage.password to the one in the BlueBubbles server's "
            "settings"
        )
    if code := _code_in(reply.fields.get("data")):
        return MessageRefused(f"Messages on the Mac could not send it (error {code})")
    if wait_s := _wait_s(reply, reason):
        return ChannelUnavailable(said, retry_after_s=wait_s)
    if reply.status >= rest.SERVER_ERRORS:
        return ChannelUnavailable(said)
    if not isinstance(error, dict) or reply.status == rest.NOT_FOUND:
        return ChannelRefused(
            f"{said}, as no BlueBubbles server does: look at channels.imessage.base_url"
        )
    return MessageRefused(said)


def _wait_s(reply: rest.RestReply, reason: str) -> float:
    """Return the seconds to wait after this refusal; 0 if waiting does not help."""
    if reply.status == rest.TOO_MANY:
        return rest.seconds(reply.header("retry-after"))
    return QUEUED_RETRY_S if _QUEUED in reason else 0.0


def _code_in(data: object) -> int:
    """Return Apple's code for a refused message, as the Mac noted it; 0 if it did not."""
    code = data.get("error") if isinstance(data, dict) else 0
    return code if isinstance(code, int) else 0


def _message(told: dict[str, Any]) -> ImessageMessage:
    """Decode a message; an undocumented one is skipped and stops none after it."""
    try:
        return msgspec.convert(told, ImessageMessage)
    except msgspec.ValidationError as err:
        # Its words stay out of the log: they are a person's
        row = told.get("originalROWID")
        return _skipped(row if isinstance(row, int) else 0, f"not as expected: {err}")


def _skipped(row: int, reason: str) -> ImessageMessage:
    """Return a message without content, so that the row is passed."""
    _log.warning("imessage: message skipped (row=%d, reason=%s)", row, reason)
    return ImessageMessage(f"row {row}", row)


def _read(told: Any, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as err:
        raise ChannelUnavailable(
            "no BlueBubbles server answers: check channels.imessage.base_url"
        ) from err
