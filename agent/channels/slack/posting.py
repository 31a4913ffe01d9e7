"""An answer as a message of its own, looked up first where it may stand in the channel already.

Slack takes a message twice. So each carries a number that nobody sees, and one whose receipt was
lost, or that an earlier run left, is looked for by it; a plain answer is looked for nowhere.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from agent.channels.slack.api import ApiRefused, SlackApi
from agent.channels.slack.understanding import place_of
from agent.clock import Clock
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Outbound

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
    metadata: _Metadata = _Metadata()


class Posting:
    """Puts answers into channels."""

    def __init__(self, api: SlackApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._unsure: OrderedDict[str, None] = OrderedDict()

    async def post(self, message: Outbound, body: Mapping[str, object]) -> None:
        """Return when it stands there.

        Raises:
            ChannelError: it does not, or nobody knows.
        """
        known = _known_as(message)
        if not known:
            await self._api.call("chat.postMessage", body)
            return
        if (message.was_left or known in self._unsure) and await self._stands(message, known):
            self._unsure.pop(known, None)
            return
        # Until the platform has said what became of it, however this ends
        self._unsure[known] = None
        if len(self._unsure) > MAX_UNSURE:
            self._unsure.popitem(last=False)
        try:
            metadata = {"event_type": _EVENT, "event_payload": {"id": known}}
            await self._api.call("chat.postMessage", {**body, "metadata": metadata})
        except ChannelError as err:
            if not isinstance(err, ChannelUnavailable) or err.retry_after_s:
                self._unsure.pop(known, None)
            raise
        self._unsure.pop(known, None)

    async def _stands(self, message: Outbound, known: str) -> bool:
        answered = place_of(message.in_reply_to)
        since = answered[1] if answered else f"{self._clock.wall_s() - LOOK_BACK_S:.6f}"
        wanted = {"channel": message.recipient, "oldest": since, "limit": str(MAX_LOOKED_AT)}
        wanted["include_all_metadata"] = "true"
        method = "conversations.history"
        if message.thread:
            method, wanted["ts"] = "conversations.replies", message.thread
        try:
            told = await self._api.ask(method, wanted)
        except ApiRefused as err:
            _log.info("an answer may come twice: %s", err)
            return False
        found = told.get("messages")
        return isinstance(found, list) and any(_number_of(one) == known for one in found)


def _number_of(told: object) -> str:
    try:
        metadata = msgspec.convert(told, _Message).metadata
    except msgspec.ValidationError:
        return ""
    return metadata.event_payload.id if metadata.event_type == _EVENT else ""


def _known_as(message: Outbound) -> str:
    """The words count too, for the numbers of answers may begin again; empty if kept nowhere."""
    if message.outbox_id <= 0:
        return ""
    told = "\0".join((str(message.outbox_id), str(message.part), message.recipient, message.text))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]
