"""Sender of answers to Discord: draft, text, files.

What the platform was asked to take twice, because its word was lost on the way, is taken once: each
message has a number of ours that it knows for some minutes. A locked thread takes nothing: what is
for a public one goes into its channel, where the same people see it.
"""

import hashlib
import logging
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.discord.client import DiscordApi, DiscordRefused
from agent.channels.discord.markup import first_part, mention_of, shown
from agent.channels.discord.threads import DiscordThreads, messages_in
from agent.channels.drafts import AnswerDraft, Drafts
from agent.errors import ChannelUnavailable
from agent.messages import Attachment, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Five changes in five seconds are taken in a channel; the answer itself is one
INTERVAL_S = 1.5
# What servers without gifts take of one file
MAX_FILE_BYTES = 10 * 1024 * 1024
# As long as the platform takes a number of ours
NONCE_CHARS = 24
_TOO_LARGE = frozenset({40005})
_TOO_LARGE_STATUS = 413


class DiscordDrafts(Drafts):
    """Drafts as messages that are edited."""

    names_once = True

    def __init__(self, api: DiscordApi, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._api = api

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S

    def _silence_s(self, draft: AnswerDraft) -> float:
        method, path = self._asked(draft)
        return self._api.limits.left_s(method, path)

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        method, path = self._asked(draft)
        body = shown(first_part(text))
        if not draft.message_id:
            inbound = draft.inbound
            body |= _known_as("draft", inbound.reply_target, inbound.message_id)
            body |= answering(inbound.answers) if inbound.is_group else {}
        try:
            told = await self._api.call(method, path, body)
        except ChannelUnavailable as err:
            # The next one may come through
            _log.info("discord: draft not shown (reason=%s)", err)
            return
        draft.message_id = draft.message_id or _id_of(told)

    async def _named(self, message: Outbound) -> str:
        body = shown(message.text) | answering(message.in_reply_to)
        body |= _known_as("draft", message.recipient, message.in_reply_to)
        path = messages_in(message.recipient, message.thread)
        return _id_of(await self._api.call("POST", path, body))

    def _asked(self, draft: AnswerDraft) -> tuple[str, str]:
        path = messages_in(draft.inbound.reply_target, draft.inbound.thread)
        return ("PATCH", f"{path}/{draft.message_id}") if draft.message_id else ("POST", path)


class DiscordSender:
    """Sender of messages, in the order of the calls."""

    def __init__(self, api: DiscordApi, drafts: DiscordDrafts, threads: DiscordThreads) -> None:
        self._api = api
        self._threads = threads
        self._drafts = drafts
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        try:
            await self._unfinished.go_on(message, self._say, self._give)
        except DiscordRefused as err:
            if message.thread is None or not err.is_locked_thread:
                raise
            await self._send_beside(message, message.thread, err)

    async def _send_beside(self, message: Outbound, thread: str, refusal: DiscordRefused) -> None:
        """Send into the channel of a locked thread, unless that has other readers."""
        channel = message.recipient
        if not await self._threads.is_public_in(thread, channel):
            raise refusal
        _log.warning("discord: thread locked, using its channel (thread=%s)", thread)
        # What it answers stands in the thread
        moved = replace(message, thread=None, in_reply_to="")
        say = partial(self._say, ahead=mention_of(thread))
        try:
            await self._unfinished.go_on(moved, say, self._give)
        except DiscordRefused as err:
            _log.warning("discord: channel of a locked thread refused it (reason=%s)", err)
            raise refusal from err
        self._drafts.forget(message)

    async def _say(self, message: Outbound, ahead: str = "") -> None:
        path, body = messages_in(message.recipient, message.thread), shown(message.text, ahead)
        if message.part == 0 and (draft := await self._drafts.end(message)):
            try:
                await self._api.call("PATCH", f"{path}/{draft}", body)
            except DiscordRefused as err:
                # Somebody deleted it: the answer comes as a message
                _log.info("discord: draft not turned into the answer (reason=%s)", err)
                await self._post(path, message, body)
        else:
            await self._post(path, message, body)
        if message.part == 0:
            self._drafts.forget(message)

    async def _post(self, path: str, message: Outbound, body: dict[str, object]) -> None:
        whole = body | _numbered(message, "text")
        if message.part == 0:
            whole |= answering(message.in_reply_to)
        await self._api.call("POST", path, whole)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        path = messages_in(message.recipient, message.thread)
        trouble = unsendable(file, MAX_FILE_BYTES, "Discord takes")
        if not trouble:
            body = {**shown(""), **_numbered(message, file.path)}
            try:
                await self._api.upload(path, body, file)
            except DiscordRefused as err:
                if err.code not in _TOO_LARGE and err.status != _TOO_LARGE_STATUS:
                    raise
                trouble = f"({file.name or 'The file'} is larger than Discord takes here.)"
        if trouble:
            await self._api.call("POST", path, shown(trouble))


def answering(message_id: str) -> dict[str, object]:
    """Return the fields that make a message an answer; the answered one may be deleted."""
    if not message_id.isdigit():
        return {}
    return {"message_reference": {"message_id": message_id, "fail_if_not_exists": False}}


def _numbered(message: Outbound, what: str) -> dict[str, object]:
    """Return the same nonce for the same words, which the platform then accepts once."""
    if message.outbox_id <= 0:
        return {}
    return _known_as(str(message.outbox_id), str(message.part), what, message.text)


def _known_as(*told: str) -> dict[str, object]:
    number = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()
    return {"nonce": number[:NONCE_CHARS], "enforce_nonce": True}


def _id_of(told: object) -> str:
    number = told.get("id") if isinstance(told, dict) else None
    return number if isinstance(number, str) and number.isdigit() else ""
