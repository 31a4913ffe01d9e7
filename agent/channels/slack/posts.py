"""Poster of answers, which first looks if the answer is already there.

Slack takes a message twice. So each carries a number that nobody sees, and one whose receipt was
lost, or that an earlier run left, is looked for by it; a plain answer is looked for nowhere.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from agent.channels.slack.client import SlackApi, SlackRefused
from agent.channels.slack.inbound import place_of
from agent.channels.started_drafts import Key
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

_EVENT = "barnacle_answer"
# Messages whose receipt was lost and which were not tried again yet
MAX_UNSURE = 100
# What is looked through: more is said after a question in no time that an answer waits for
MAX_LOOKED_AT = 200
# How long ago something that answers nothing may have been sent, at most
LOOK_BACK_S = 24 * 3600.0


class _Payload(msgspec.Struct, frozen=True):
    id: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    event_type: str = ""
    event_payload: _Payload = _Payload()


class _Message(msgspec.Struct, frozen=True):
    ts: str = ""
    metadata: _Metadata = _Metadata()


class SlackAnswerPoster:
    """Poster of answers into channels."""

    def __init__(self, api: SlackApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._unsure: OrderedDict[str, None] = OrderedDict()

    async def post(self, message: Outbound, body: Mapping[str, object]) -> None:
        """Post the answer.

        Raises:
            ChannelError: it does not, or nobody knows.
        """
        known = _known_as(message)
        if not known:
            await self._api.call("chat.postMessage", body)
            return
        if message.was_left or known in self._unsure:
            answered = (message.recipient, message.thread, message.in_reply_to)
            if await self.found(answered, known):
                self._unsure.pop(known, None)
                return
        # Until the platform has said what became of it, however this ends
        self._unsure[known] = None
        if len(self._unsure) > MAX_UNSURE:
            self._unsure.popitem(last=False)
        try:
            await self._api.call("chat.postMessage", {**body, **numbered(known)})
        except ChannelError as err:
            if not isinstance(err, ChannelUnavailable) or err.retry_after_s:
                self._unsure.pop(known, None)
            raise
        self._unsure.pop(known, None)

    async def found(self, answer: Key, known: str) -> str:
        """Return the message with that number; empty if there is none.

        Raises:
            ChannelUnavailable: nobody knows now.
        """
        channel, thread, message_id = answer
        answered = place_of(message_id)
        since = answered[1] if answered else f"{self._clock.wall_s() - LOOK_BACK_S:.6f}"
        wanted = {"channel": channel, "oldest": since, "limit": str(MAX_LOOKED_AT)}
        wanted["include_all_metadata"] = "true"
        method = "conversations.history"
        if thread:
            method, wanted["ts"] = "conversations.replies", thread
        try:
            told = await self._api.ask(method, wanted)
        except SlackRefused as err:
            _log.info("slack: an answer may come twice (reason=%s)", err)
            return ""
        there = told.get("messages")
        read = [_read(one) for one in there] if isinstance(there, list) else []
        wanted_one = _Metadata(_EVENT, _Payload(known))
        return next((one.ts for one in read if one.metadata == wanted_one), "")


def numbered(known: str) -> dict[str, object]:
    """Return the metadata by which a message is found again."""
    return {"metadata": {"event_type": _EVENT, "event_payload": {"id": known}}}


def draft_number(answer: Key) -> str:
    """Return the number of a draft, made from the message that it answers."""
    return _hashed("draft", *(told or "" for told in answer))


def _read(told: object) -> _Message:
    try:
        return msgspec.convert(told, _Message)
    except msgspec.ValidationError:
        return _Message()


def _known_as(message: Outbound) -> str:
    """Return the number with a hash of the words, for numbers may begin again; may be empty."""
    if message.outbox_id <= 0:
        return ""
    return _hashed(str(message.outbox_id), str(message.part), message.recipient, message.text)


def _hashed(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()[:32]
