"""Sender of answers to Signal: the draft becomes the answer."""

import logging
from collections import OrderedDict

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.signal.client import SignalClient
from agent.channels.signal.drafts import SignalDrafts
from agent.channels.signal.ids import parameters_of, target_of, written_of
from agent.channels.signal.writer import MAX_FILE_BYTES, SignalWriter
from agent.errors import ChannelError, MessageRefused
from agent.messages import Attachment, Inbound, Outbound

_log = logging.getLogger(__name__)

# What groups said that has no answer yet
MAX_HEARD = 200
# As much of a message as is shown above its answer
MAX_QUOTED_CHARS = 200


class SignalSender:
    """Sender of messages, in the order of the calls."""

    def __init__(self, daemon: SignalClient, letters: SignalWriter, drafts: SignalDrafts) -> None:
        self._daemon = daemon
        self._letters = letters
        self._drafts = drafts
        self._unfinished = DeliverySteps()
        # Signal shows above an answer what whoever answers says was asked
        self._heard: OrderedDict[str, str] = OrderedDict()

    def hear(self, inbound: Inbound) -> None:
        """Keep a group's message, to show it above the answer."""
        if not inbound.is_group:
            return
        self._heard[inbound.message_id] = inbound.text[:MAX_QUOTED_CHARS]
        if len(self._heard) > MAX_HEARD:
            self._heard.popitem(last=False)

    async def send(self, message: Outbound) -> None:
        """Return when Signal has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def _say(self, message: Outbound) -> None:
        place = parameters_of(message.recipient)
        shown = await self._drafts.end(message) if message.part == 0 else ""
        if not shown or not await self._became(int(shown), message):
            answered = self._quoted(message) if message.part == 0 else {}
            await self._letters.put({**place, **answered}, message.text)
        if message.part == 0:
            self._drafts.forget(message)

    async def _became(self, shown: int, message: Outbound) -> bool:
        """Turn the draft into the answer; return true if done. A hopeless draft is deleted."""
        place = parameters_of(message.recipient)
        try:
            await self._letters.put({**place, "editTimestamp": shown}, message.text)
        except MessageRefused as err:
            _log.info("signal: draft not turned into the answer (reason=%s)", err)
            self._drafts.forget(message)
            await self._take_back(shown, place)
            return False
        return True

    async def _take_back(self, shown: int, place: dict[str, object]) -> None:
        try:
            await self._daemon.call("remoteDelete", {**place, "targetTimestamp": shown})
        except ChannelError as err:
            _log.info("signal: draft not deleted (reason=%s)", err)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        place = parameters_of(message.recipient)
        trouble = unsendable(file, MAX_FILE_BYTES, "go over Signal from here")
        if not trouble:
            try:
                await self._letters.give(place, file)
            except OSError as err:
                raise MessageRefused(f"cannot read the file: {err.strerror}") from err
            return
        await self._letters.put(place, trouble)

    def _quoted(self, message: Outbound) -> dict[str, object]:
        """Return the quoted message; in a chat of two none is needed."""
        words = self._heard.pop(message.in_reply_to, "")
        asked = written_of(message.in_reply_to)
        if asked is None or not words or message.recipient == target_of("", asked.author):
            return {}
        return {
            "quoteTimestamp": asked.timestamp_ms,
            "quoteAuthor": asked.author,
            "quoteMessage": words,
        }
