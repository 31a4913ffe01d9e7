"""Questions with buttons beneath them, which only the person who was asked can press.

A button carries the question's id and the answer, nothing that could be forged into another call.
What became of a question is written into its message, and the buttons go.
"""

import asyncio
import logging

from agent.channels.answers import OpenQuestions
from agent.channels.base import Answer, Question
from agent.channels.telegram.api import TelegramApi
from agent.channels.telegram.silence import Silence
from agent.channels.telegram.understanding import NAME
from agent.channels.telegram.updates import Callback
from agent.channels.telegram.words import MAX_UNITS, Words
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Address
from agent.printable import printable_line, printable_text, spelled_out

_log = logging.getLogger(__name__)

# What "always" would stand for, and the sentences around a call
MAX_ALWAYS_CHARS = 400
MAX_WORDS_CHARS = 1000
# At the end: what the platform has not taken by then keeps its buttons, which do nothing
LET_GO_S = 3.0
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4
_LABELS = {Answer.YES: "Yes", Answer.NO: "No", Answer.ALWAYS: "Always"}
_PRESSED = {answer.value: answer for answer in _LABELS}
_OUTCOMES = {
    Answer.YES: "You said yes.",
    Answer.NO: "You said no.",
    Answer.ALWAYS: "You said always.",
    Answer.NONE: "Nobody answered in time: it was not done.",
}


class Asking:
    """Asks in chats, and hears the buttons."""

    def __init__(
        self, api: TelegramApi, words: Words, questions: OpenQuestions, silence: Silence
    ) -> None:
        self._api = api
        self._words = words
        self._questions = questions
        self._silence = silence
        # Messages that are still to be told what became of their question
        self._closing: set[asyncio.Task[None]] = set()

    async def ask(self, address: Address, question: Question) -> Answer:
        """The answer; waits until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        self._silence.demand(address.target)
        told = pieces(question)
        if len(told) > MAX_MESSAGES:
            return Answer.NONE
        answer = Answer.NONE
        # Before it is shown: a quick thumb must find the question open
        waiting = asyncio.ensure_future(self._questions.wait(address, question))
        putting = asyncio.ensure_future(self._put(address, question, told))
        try:
            # Its buttons are to go also where nobody waits for them any more
            await asyncio.shield(putting)
            answer = await waiting
        finally:
            waiting.cancel()
            self._close(address, putting, told[-1], answer)
        return answer

    async def press(self, callback: Callback) -> None:
        """Take a button for what it is worth, and let its light go out."""
        text = "" if self._is_taken(callback) else "This question is not open for you."
        body: dict[str, object] = {"callback_query_id": callback.id}
        try:
            await self._api.call("answerCallbackQuery", {**body, "text": text} if text else body)
        except ChannelError as err:
            _log.info("a button keeps its light on: %s", err)

    async def aclose(self) -> None:
        if self._closing:
            await asyncio.wait(self._closing, timeout=LET_GO_S)

    def _is_taken(self, callback: Callback) -> bool:
        message = callback.message
        name, _, known = callback.data.partition(":")
        if message is None or name not in _PRESSED:
            return False
        person, chat = str(callback.from_.id), str(message.chat.id)
        address = Address(NAME, chat, person, message.thread)
        return self._questions.press(address, known, _PRESSED[name])

    async def _put(self, address: Address, question: Question, told: list[str]) -> int:
        """The number of the message with the buttons."""
        place = self._words.place(address.target, address.thread)
        try:
            for text in told[:-1]:
                await self._api.call("sendMessage", {**place, "text": text})
            shown = await self._api.call(
                "sendMessage", {**place, "text": told[-1], "reply_markup": buttons(question)}
            )
        except ChannelUnavailable as err:
            self._silence.note(address.target, err)
            raise
        number = shown.get("message_id") if isinstance(shown, dict) else None
        return number if isinstance(number, int) else 0

    def _close(
        self, address: Address, putting: "asyncio.Future[int]", text: str, answer: Answer
    ) -> None:
        """Write the outcome, also where whoever asked is being cancelled."""
        task = asyncio.create_task(self._write(address, putting, text, answer))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _write(
        self, address: Address, putting: "asyncio.Future[int]", text: str, answer: Answer
    ) -> None:
        try:
            place = {"chat_id": self._words.chat_of(address.target), "message_id": await putting}
            told = {**place, "text": f"{text}\n\n{_OUTCOMES[answer]}"}
            await self._api.call("editMessageText", told)
        except ChannelError as err:
            _log.info("a question keeps its buttons: %s", err)


def pieces(question: Question) -> list[str]:
    """The question in messages: every byte that will act is shown, or it is not asked."""
    lines = [
        printable_text(question.words, MAX_WORDS_CHARS),
        f"{question.tool} {spelled_out(question.arguments_json)}",
        f"It needs your word: {printable_line(question.reason, MAX_WORDS_CHARS)}.",
    ]
    if question.always:
        always = printable_line(question.always, MAX_ALWAYS_CHARS)
        lines.append(f"“Always” would be: {always}.")
    text = "\n".join(line for line in lines if line)
    # Two units for each character at most, and room for the outcome
    size = MAX_UNITS // 2 - 100
    return [text[start : start + size] for start in range(0, len(text), size)]


def buttons(question: Question) -> dict[str, object]:
    """One row; ten times less than the 64 bytes that a button may carry."""
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    row = [
        {"text": _LABELS[answer], "callback_data": f"{answer.value}:{question.question_id}"}
        for answer in answers
    ]
    return {"inline_keyboard": [row]}
