"""Questions of turns to people; the person's next message is the answer.

One question of a conversation at a time: its turns come one after the other. Commands are never an
answer; a message that comes after the question has ended is an ordinary message.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from agent.access.open_questions import OpenQuestions
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound, Provenance
from agent.messaging.delivery import Delivery
from agent.tools.inquiry import InquiryAnswer
from agent.turn.untrusted_links import without_strange_links

# Asks the person through the channel; None if the answer comes as a message
Listen = Callable[[str], Awaitable[str | None]]
_Waiting = asyncio.Future[Inbound]


class UserQuestions:
    """The open questions, by conversation."""

    def __init__(self, delivery: Delivery, questions: OpenQuestions) -> None:
        self._delivery = delivery
        self._questions = questions
        self._open: dict[str, _Waiting] = {}

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
            return InquiryAnswer(said, message.provenance)
        if not await self._delivery.send_unrecorded(_message(message, question, trust)):
            raise ChannelUnavailable("the question could not be sent")
        # A message from before the question is no answer to it
        waiting: _Waiting = asyncio.get_running_loop().create_future()
        self._open[message.conversation] = waiting
        try:
            with self._questions.wants_words(message.conversation):
                answer = await waiting
            return InquiryAnswer(answer.text, answer.provenance)
        finally:
            if self._open.get(message.conversation) is waiting:
                del self._open[message.conversation]

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


@dataclass(frozen=True, slots=True)
class _Asker:
    """The waiting turn, if there is one."""

    waiting: _Waiting | None

    @property
    def is_open(self) -> bool:
        return self.waiting is not None and not self.waiting.done()

    def hear(self, answer: Inbound) -> bool:
        """Return true if the message is an answer; the turn may have ended by then."""
        # A forwarded message is never an answer
        if self.waiting is None or self.waiting.done() or answer.is_forwarded:
            return False
        self.waiting.set_result(answer)
        return True


def _message(message: Inbound, question: str, trust: Provenance) -> Outbound:
    said = "" if message.is_forwarded else message.text
    text = without_strange_links(question, trust, said)
    return Outbound(0, message.channel, message.reply_target, text, "", message.thread)
