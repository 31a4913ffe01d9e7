"""Questions with buttons beneath them, which only the person who was asked can press.

A button carries the question's id and the answer, nothing that could be forged into another call.
What became of a question is written into its message, and the buttons go.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question
from agent.errors import ChannelError
from agent.messages import Address
from agent.text.printable import spelled_out, spelled_text

_log = logging.getLogger(__name__)

# What "always" would stand for, and the sentences around a call
MAX_ALWAYS_CHARS = 400
MAX_WORDS_CHARS = 1000
# At the end: what the platform has not taken by then keeps its buttons, which do nothing
LET_GO_S = 3.0
NOT_OPEN = "This question is closed, or not yours to answer."
OUTCOMES = {
    Answer.YES: "Approved.",
    Answer.NO: "Refused.",
    Answer.ALWAYS: "Approved from now on.",
    Answer.NONE: "No answer in time: not done.",
}
_PRESSED = {answer.value: answer for answer in (Answer.YES, Answer.NO, Answer.ALWAYS)}


class ApprovalButtons(ABC):
    """Base for the questions of one channel; a platform shows and closes them."""

    def __init__(self, questions: OpenApprovals) -> None:
        self._questions = questions
        # Words that are still on their way to the platform
        self._under_way: set[asyncio.Task[None]] = set()

    @abstractmethod
    def _fits(self, question: Question) -> bool:
        """Return true if the question can be shown whole; otherwise the terminal asks."""

    @abstractmethod
    async def _put(self, address: Address, question: Question) -> str:
        """Show the question and return the id of its message."""

    @abstractmethod
    async def _close(
        self, address: Address, question: Question, message_id: str, outcome: str
    ) -> None:
        """Remove the buttons and show the outcome."""

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        if not self._fits(question):
            return Answer.NONE
        answer = Answer.NONE
        # Before it is shown: a quick thumb must find the question open
        waiting = asyncio.ensure_future(self._questions.wait(address, question))
        putting = asyncio.ensure_future(self._put(address, question))
        try:
            # Its buttons are to go also where nobody waits for them any more
            await asyncio.shield(putting)
            self._questions.shown(question)
            answer = await waiting
        finally:
            waiting.cancel()
            self._begin(self._settle(address, question, putting, answer))
        return answer

    async def aclose(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=LET_GO_S)

    def _is_taken(self, address: Address, pressed: str) -> bool:
        """Return true if the right person pressed a button in time."""
        name, _, question_id = pressed.partition(":")
        answer = _PRESSED.get(name)
        return answer is not None and self._questions.press(address, question_id, answer)

    def _begin(self, part: Coroutine[None, None, None]) -> None:
        """Run `part` in a task of its own, which a cancelled caller does not stop."""
        task = asyncio.create_task(part)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _settle(
        self, address: Address, question: Question, putting: "asyncio.Future[str]", answer: Answer
    ) -> None:
        try:
            await self._close(address, question, await putting, OUTCOMES[answer])
        except ChannelError as err:
            _log.info("channels: buttons of a question not removed (reason=%s)", err)


def pieces(question: Question, size: int) -> list[str]:
    """Split the question, with the whole call in it, into pieces of `size` characters."""
    lines = [
        spelled_text(question.words, MAX_WORDS_CHARS),
        f"{question.tool} {spelled_out(question.arguments_json)}",
        f"Why I ask: {spelled_out(question.reason)[:MAX_WORDS_CHARS]}.",
    ]
    if question.always:
        always = spelled_out(question.always)[:MAX_ALWAYS_CHARS]
        lines.append(f"“Always” approves from now on: {always}.")
    text = "\n".join(line for line in lines if line)
    return [text[start : start + size] for start in range(0, len(text), size)]


def button_values(question: Question) -> dict[Answer, str]:
    """Return the buttons in order, with the text that each carries: some 12 characters."""
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    return {answer: f"{answer.value}:{question.question_id}" for answer in answers}
