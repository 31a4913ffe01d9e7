"""Questions of turns to people; the person's next message is the answer.

One question of a conversation at a time, those of its jobs included. Commands are never an
answer; a message that comes after the question has ended is an ordinary message.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from agent.access.open_questions import OpenQuestions
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound, Provenance
from agent.messaging.delivery import Delivery
from agent.tools.inquiry import InquiryAnswer

# Asks the person through the channel; None if the answer comes as a message
Listen = Callable[[str], Awaitable[str | None]]
_Waiting = asyncio.Future[Inbound]
# One reminder for several messages in a row
REMIND_EVERY_S = 15.0
# Questions are open for two minutes, and few people are held by one at a time
MAX_REMEMBERED = 200


class UserQuestions:
    """The open questions, by conversation."""

    def __init__(self, delivery: Delivery, questions: OpenQuestions) -> None:
        self._delivery = delivery
        self._questions = questions
        self._open: dict[str, _Waiting] = {}
        # Turns of jobs ask in the conversation where the person answers: one after the other
        self._lines: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def put(
        self,
        message: Inbound,
        listen: Listen,
        question: str,
        trust: Provenance = Provenance.MODEL,
    ) -> InquiryAnswer:
        """Ask, and return the person's next message; waits until cancelled.

        Args:
            trust: of the question; a model's has no strange links.

        Raises:
            ChannelError: nobody can be asked, or it could not be sent.
        """
        said = await listen(question)
        if said is not None:
            return InquiryAnswer(said, message.provenance, message.is_spoken)
        # What a person writes begins no strand
        place = replace(message, strand=None).conversation
        async with self._lines.setdefault(place, asyncio.Lock()):
            return await self._heard(message, place, question, trust)

    async def _heard(
        self, message: Inbound, place: str, question: str, trust: Provenance
    ) -> InquiryAnswer:
        if not await self._delivery.send_unrecorded(_message(message, question, trust)):
            raise ChannelUnavailable("the question could not be sent")
        # A message from before the question is no answer to it
        waiting: _Waiting = asyncio.get_running_loop().create_future()
        self._open[place] = waiting
        try:
            with self._questions.wants_words(place):
                return _in_words(await waiting)
        finally:
            if self._open.get(place) is waiting:
                del self._open[place]

    @contextlib.contextmanager
    def claimed(self, conversation: str) -> Iterator["_Asker"]:
        """Yield the question that waits in this conversation; only one message answers it.

        The question stays open if the message was no answer.
        """
        asker = _Asker(self._open.pop(conversation, None))
        try:
            yield asker
        finally:
            if asker.is_open and asker.waiting is not None:
                self._open[conversation] = asker.waiting


class _Asker(Struct, frozen=True):
    """The waiting turn, if there is one."""

    waiting: _Waiting | None

    @property
    def is_open(self) -> bool:
        return self.waiting is not None and not self.waiting.done()

    def hear(self, answer: Inbound) -> bool:
        """Return true if the message is an answer; the turn may have ended by then."""
        # A forwarded message is never an answer, nor is one that could not be heard
        is_none = answer.is_forwarded or answer.is_only_notes
        if self.waiting is None or self.waiting.done() or is_none:
            return False
        self.waiting.set_result(answer)
        return True


def _in_words(answer: Inbound) -> InquiryAnswer:
    """Return what was said, with the places of files and what became of those that did not come."""
    from agent.turn.attachments import kept  # noqa: PLC0415 - a turn has loaded it

    # What was said aloud stands in the text
    heard = "audio/" if answer.is_spoken else "nothing"
    files = (one for one in answer.attachments if not one.media_type.startswith(heard))
    said = kept(replace(answer, attachments=tuple(files)))
    text = "\n\n".join(filter(None, (said.text, *answer.notes)))
    return InquiryAnswer(text, min(answer.provenance, said.provenance), answer.is_spoken)


def _message(message: Inbound, question: str, trust: Provenance) -> Outbound:
    # Every message comes by here, and its patterns are loaded in a thread when a turn begins
    from agent.turn.untrusted_links import without_strange_links  # noqa: PLC0415

    said = "" if message.is_forwarded else message.text
    text = without_strange_links(question, trust, said)
    return Outbound(0, message.channel, message.reply_target, text, "", message.thread)


class QuestionReminders:
    """Sends reminders; none is stored, because no question outlives a restart."""

    def __init__(self, delivery: Delivery, questions: OpenQuestions) -> None:
        self._delivery = delivery
        self._questions = questions
        self._told: dict[str, tuple[str, float]] = {}

    def tell_lately(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Send the reminder unless the same one was sent there a moment ago."""
        line = self._questions.instruction(message)
        earlier, at_s = self._told.get(message.conversation, ("", 0.0))
        if line != earlier or self._delivery.clock.monotonic_s() - at_s >= REMIND_EVERY_S:
            self.tell(message, tasks)

    def tell(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        line = self._questions.instruction(message)
        if len(self._told) >= MAX_REMEMBERED:
            self._told.clear()
        self._told[message.conversation] = line, self._delivery.clock.monotonic_s()
        told = Outbound(
            0, message.channel, message.reply_target, line, message.answers, message.thread
        )
        tasks.create_task(self._delivery.send_unrecorded(told))
