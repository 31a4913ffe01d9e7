"""Sender of answers, files and questions to QQ, each in an open window.

What cannot be said now waits: whoever keeps it sends it first when the person has written again.
"""

import asyncio
import base64
import hashlib
import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from html import escape
from pathlib import Path
from typing import Any

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question
from agent.channels.delivery_steps import unsendable
from agent.channels.qq.client import (
    QqAddressesRefused,
    QqApi,
    QqRefused,
    QqRepeated,
    QqWindowClosed,
)
from agent.channels.qq.events import CHANNEL, DM, GROUP, USER, kind_of
from agent.channels.qq.reply_windows import QqReply, QqWindows
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Address, Attachment, Outbound

_log = logging.getLogger(__name__)

# The vendor's own plugin for agents sends as much; five of them are all that a message may have
MAX_PART_UNITS = 4500
# What is taken within a request; a third more as base64
MAX_FILE_BYTES = 10 * 1024 * 1024
# As much of a file as is read at once; of three bytes base64 makes four signs, without a rest
PIECE_BYTES = 48 * 1024
# Kinds of messages, and of files
_TEXT, _MEDIA = 0, 7
_KINDS = {
    "image/jpeg": 1,
    "image/png": 1,
    "video/mp4": 2,
    "audio/silk": 3,
    "audio/wav": 3,
    "audio/mpeg": 3,
    "audio/flac": 3,
}
_ANY_FILE = 4
_PATHS = {
    USER: "/v2/users/{}/messages",
    GROUP: "/v2/groups/{}/messages",
    CHANNEL: "/channels/{}/messages",
    DM: "/dms/{}/messages",
}
# What the platform takes for an address that has to be registered with it first
_ADDRESS = re.compile(
    r"(?:https?://)?(?:[\w-]{1,63}\.){1,8}[a-z]{2,24}\b(?:[/?#:][^\s<>]*)?", re.IGNORECASE
)
# In a text these are mentions: a model may not call people
_CALLS = re.compile(r"<(?=@|qqbot-at)|@(?=everyone\b)", re.IGNORECASE)
_NO_WINDOW = "QQ takes only answers, few and soon: it waits until something is written there again"


class QqSender:
    """Sender of one bot."""

    def __init__(self, api: QqApi, windows: QqWindows, questions: OpenApprovals) -> None:
        self._api = api
        self._windows = windows
        self._questions = questions

    def may_go(self, message: Outbound) -> bool:
        """Return true if anything of it can be sent now, for the first time or again."""
        place, begun = message.recipient, _prefix(message)
        return self._windows.has_room(place) or self._windows.has_tried(place, begun)

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not; what it has of it does not go again.
        """
        if message.text.strip():
            from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

            await self._say(message, to_plain(message.text), "text")
        for number, file in enumerate(message.files):
            await self._give(message, file, f"file {number}")

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        return await approvals.ask(self._questions, address, question, self.send)

    async def _say(self, message: Outbound, text: str, step: str) -> None:
        kind = kind_of(message.recipient)
        for worded_so in (text, *_without_addresses(text)):
            try:
                content = _calling_nobody(worded_so, kind)
                await self._put(message, step, {"content": content, "msg_type": _TEXT})
            except QqAddressesRefused as err:
                _log.info("qq: request failed (reason=%s)", err)
                continue
            return
        raise MessageRefused("QQ refused the text in every form")

    async def _give(self, message: Outbound, file: Attachment, step: str) -> None:
        if self._windows.was_sent(_key(message, step)):
            return
        kind = kind_of(message.recipient)
        if trouble := unsendable(file, MAX_FILE_BYTES, "QQ takes"):
            await self._say(message, trouble, step)
            return
        name = file.name or "The file"
        if kind not in {USER, GROUP}:
            await self._say(message, f"({name} cannot go here: QQ's guilds take none.)", step)
            return
        if not self.may_go(message):
            raise ChannelUnavailable(_NO_WINDOW)
        try:
            known = await self._uploaded(message.recipient, file)
            await self._put(message, step, {"msg_type": _MEDIA, "media": {"file_info": known}})
        except QqRefused as err:
            _log.warning("qq: file refused (reason=%s)", err)
            await self._say(message, f"({name} is of a kind that QQ does not take here.)", step)

    async def _uploaded(self, place: str, file: Attachment) -> str:
        """Upload the file and return the platform's id of it, which expires."""
        body = _Body(file, _KINDS.get(file.media_type, _ANY_FILE))
        path = _path(place).replace("/messages", "/files")
        try:
            told = await self._api.upload(path, body.size_bytes, body.pieces)
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        known = told.get("file_info")
        if not isinstance(known, str) or not known:
            raise ChannelUnavailable("QQ gave no id for the uploaded file")
        return known

    async def _put(self, message: Outbound, step: str, body: dict[str, Any]) -> None:
        """Send it once, in an open window."""
        key = _key(message, step)
        if self._windows.was_sent(key):
            return
        while reply := await self._windows.take(message.recipient, key, message.in_reply_to):
            try:
                is_said = await self._is_said(reply, body)
            except ChannelUnavailable:
                if message.outbox_id <= 0:
                    # Nobody tries it again
                    await self._windows.refused(reply, is_used=True)
                raise
            if is_said:
                await self._windows.sent(reply)
                return
        raise ChannelUnavailable(_NO_WINDOW)

    async def _is_said(self, reply: QqReply, body: dict[str, Any]) -> bool:
        """Send it; return false if another window or number is needed."""
        told = {**body, "msg_id": reply.message_id, "msg_seq": reply.seq}
        if kind_of(reply.place) in {CHANNEL, DM}:
            # Guilds have no numbers, and no kinds
            told = {"content": body["content"], "msg_id": reply.message_id}
        try:
            await self._api.call("POST", _path(reply.place), told)
        except QqWindowClosed as err:
            _log.info("qq: request failed (reason=%s)", err)
            await self._windows.close(reply)
            return False
        except QqRepeated:
            if not reply.was_tried:
                # By an answer of which nothing is on record
                await self._windows.refused(reply, is_used=True)
            return reply.was_tried
        except QqRefused:
            await self._windows.refused(reply, is_used=False)
            raise
        return True


class _Body:
    """Request with a file, made while it is sent: no file is held in memory."""

    def __init__(self, file: Attachment, kind: int) -> None:
        self._path = Path(file.path)
        about: dict[str, object] = {"file_type": kind, "srv_send_msg": False}
        if kind == _ANY_FILE:
            about["file_name"] = file.name or "file"
        head = json.dumps(about, ensure_ascii=False).removesuffix("}")
        self._head = f'{head}, "file_data": "'.encode("utf-8", "replace")
        self._left = self._path.stat().st_size
        self.size_bytes = len(self._head) + 4 * -(-self._left // 3) + len(b'"}')

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield exactly the announced length, even if the file changes."""
        left = self._left
        yield self._head
        file = await asyncio.to_thread(self._path.open, "rb")
        try:
            while left:
                wanted = min(PIECE_BYTES, left)
                piece = await asyncio.to_thread(file.read, wanted)
                if len(piece) < wanted:
                    raise OSError("the file became shorter while it was sent")
                left -= wanted
                yield base64.b64encode(piece)
        finally:
            file.close()
        yield b'"}'


def parts(text: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

    return split(text, MAX_PART_UNITS, utf16_units)


def _key(message: Outbound, step: str) -> str:
    """Return the key of an answer, with its words: numbers may begin again."""
    if message.outbox_id <= 0:
        # Kept nowhere, so it never comes again
        return secrets.token_hex(8)
    told = "\0".join((str(message.outbox_id), str(message.part), message.recipient, message.text))
    known = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{_prefix(message)}{message.part} {step} {known}"


def _prefix(message: Outbound) -> str:
    return f"{message.outbox_id}."


def _path(place: str) -> str:
    return _PATHS[kind_of(place)].format(place.partition(":")[2])


def _without_addresses(text: str) -> Iterator[str]:
    """Yield forms with changed addresses, and at last without them."""
    if _ADDRESS.search(text):
        yield _ADDRESS.sub(lambda found: _gapped(found[0]), text)
        yield _ADDRESS.sub("[an address that QQ lets nobody send]", text)


def _calling_nobody(text: str, kind: str) -> str:
    """Return the text without mentions; guilds alone turn escaped signs back."""
    quiet = _CALLS.sub(lambda found: f"{found[0]}\u200b", text)
    return escape(quiet, quote=False) if kind in {CHANNEL, DM} else quiet


def _gapped(address: str) -> str:
    return address.replace("://", " :// ").replace(".", " . ")
