"""An answer into its chat: text first, then its files, none of them twice.

What was done of a message is remembered until all of it is: a file that fails does not repeat the
text.
"""

import logging
from collections import OrderedDict

from agent.channels.signal.daemon import Daemon
from agent.channels.signal.drafts import Drafts
from agent.channels.signal.letters import Letters, unsendable
from agent.channels.signal.places import parameters_of, target_of, written_of
from agent.errors import ChannelError, MessageRefused
from agent.messages import Attachment, Inbound, Outbound

_log = logging.getLogger(__name__)

# Messages whose first steps were done when a later one failed
MAX_UNFINISHED = 100
# What groups said that has no answer yet
MAX_HEARD = 200
# As much of a message as is shown above its answer
MAX_QUOTED_CHARS = 200


class Sending:
    """Sends messages, in the order in which it is asked to."""

    def __init__(self, daemon: Daemon, letters: Letters, drafts: Drafts) -> None:
        self._daemon = daemon
        self._letters = letters
        self._drafts = drafts
        # By message and part, how many steps are done
        self._done: OrderedDict[tuple[int, int], int] = OrderedDict()
        # Signal shows above an answer what whoever answers says was asked
        self._heard: OrderedDict[str, str] = OrderedDict()

    def hear(self, inbound: Inbound) -> None:
        """Keep what a group said, to show it above the answer."""
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
        key = (message.outbox_id, message.part)
        done = self._done.get(key, 0)
        if done == 0:
            if message.text.strip():
                await self._say(message)
            self._note(key, 1)
        for step, file in enumerate(message.files, start=1):
            if done <= step:
                await self._give(message, file)
                self._note(key, step + 1)
        self._done.pop(key, None)

    def _note(self, key: tuple[int, int], steps: int) -> None:
        self._done[key] = steps
        if len(self._done) > MAX_UNFINISHED:
            self._done.popitem(last=False)

    async def _say(self, message: Outbound) -> None:
        place = parameters_of(message.recipient)
        shown = await self._drafts.end(message) if message.part == 0 else 0
        if not shown or not await self._became(shown, message):
            answered = self._quoted(message) if message.part == 0 else {}
            await self._letters.put({**place, **answered}, message.text)
        if message.part == 0:
            self._drafts.forget(message)

    async def _became(self, shown: int, message: Outbound) -> bool:
        """Whether the draft is the answer now; if it never can be, it is taken back."""
        place = parameters_of(message.recipient)
        try:
            await self._letters.put({**place, "editTimestamp": shown}, message.text)
        except MessageRefused as err:
            _log.info("a draft cannot become the answer: %s", err)
            self._drafts.forget(message)
            await self._take_back(shown, place)
            return False
        return True

    async def _take_back(self, shown: int, place: dict[str, object]) -> None:
        try:
            await self._daemon.call("remoteDelete", {**place, "targetTimestamp": shown})
        except ChannelError as err:
            _log.info("a draft stays in its chat: %s", err)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        place = parameters_of(message.recipient)
        trouble = unsendable(file)
        if not trouble:
            try:
                await self._letters.give(place, file)
            except OSError as err:
                raise MessageRefused(f"a file cannot be read: {err.strerror}") from err
            return
        await self._letters.put(place, trouble)

    def _quoted(self, message: Outbound) -> dict[str, object]:
        """In a chat of two it is clear what is answered."""
        words = self._heard.pop(message.in_reply_to, "")
        asked = written_of(message.in_reply_to)
        if asked is None or not words or message.recipient == target_of("", asked.author):
            return {}
        return {
            "quoteTimestamp": asked.timestamp_ms,
            "quoteAuthor": asked.author,
            "quoteMessage": words,
        }
