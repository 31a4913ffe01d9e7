"""Questions with buttons beneath them, which only the person who was asked can press.

A button carries the question's id and the answer, nothing that could be forged into another call.
What became of a question is written beneath it, and the buttons go.
"""

import asyncio
import logging
from collections.abc import Coroutine

from agent.channels.answers import OpenQuestions
from agent.channels.base import Answer, Question
from agent.channels.slack.api import SlackApi
from agent.channels.slack.events import Interaction
from agent.channels.slack.sending import in_thread
from agent.channels.slack.understanding import NAME, is_ts
from agent.channels.slack.words import QUIET, escaped
from agent.errors import ChannelError
from agent.messages import Address
from agent.printable import printable_line, printable_text, spelled_out

_log = logging.getLogger(__name__)

# What "always" would stand for, and the sentences around a call
MAX_ALWAYS_CHARS = 400
MAX_WORDS_CHARS = 1000
# A section holds 3000, of whatever is counted
PIECE_CHARS = 1500
# A call that takes more sections than this to show is asked about at the terminal
MAX_PIECES = 20
# At the end: what the platform has not taken by then keeps its buttons, which do nothing
LET_GO_S = 3.0
# What a notification shows, which is all that a telephone in a pocket does
SUMMARY_CHARS = 200
_LABELS = {
    Answer.YES: ("Yes", {"style": "primary"}),
    Answer.NO: ("No", {"style": "danger"}),
    Answer.ALWAYS: ("Always", {}),
}
_PRESSED = {answer.value: answer for answer in _LABELS}
_OUTCOMES = {
    Answer.YES: "You said yes.",
    Answer.NO: "You said no.",
    Answer.ALWAYS: "You said always.",
    Answer.NONE: "Nobody answered in time: it was not done.",
}
Block = dict[str, object]


class Asking:
    """Asks in channels, and hears the buttons."""

    def __init__(self, api: SlackApi, questions: OpenQuestions) -> None:
        self._api = api
        self._questions = questions
        # Words that are still on their way to the platform
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, address: Address, question: Question) -> Answer:
        """The answer; waits until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = sections(question)
        if len(told) > MAX_PIECES:
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
            self._begin(self._close(address, question, putting, answer))
        return answer

    def press(self, told: Interaction) -> None:
        """Take a button for what it is worth."""
        if told.type != "block_actions" or self._is_taken(told):
            return
        body = {"channel": told.channel.id, "user": told.user.id}
        words = {"text": "This question is not open for you."}
        self._begin(self._say_to_them({**body, **words, **in_thread(_thread_of(told))}))

    async def aclose(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=LET_GO_S)

    def _is_taken(self, told: Interaction) -> bool:
        name, _, known = told.actions[0].value.partition(":") if told.actions else ("", "", "")
        if name not in _PRESSED:
            return False
        address = Address(NAME, told.channel.id, told.user.id, _thread_of(told))
        return self._questions.press(address, known, _PRESSED[name])

    async def _put(self, address: Address, question: Question, told: list[Block]) -> str:
        """The number of the message with the buttons."""
        body = _message(address, question, [*told, buttons(question)])
        shown = await self._api.call("chat.postMessage", body | in_thread(address.thread))
        ts = shown.get("ts")
        return ts if isinstance(ts, str) and is_ts(ts) else ""

    async def _say_to_them(self, body: dict[str, object]) -> None:
        try:
            await self._api.call("chat.postEphemeral", body)
        except ChannelError as err:
            _log.info("a button is not answered: %s", err)

    async def _close(
        self, address: Address, question: Question, putting: "asyncio.Future[str]", answer: Answer
    ) -> None:
        """Take the buttons away, and say beneath what became of it."""
        outcome: Block = {"type": "context", "elements": [_plain(_OUTCOMES[answer])]}
        body = _message(address, question, [*sections(question), outcome])
        try:
            await self._api.call("chat.update", {**body, "ts": await putting})
        except ChannelError as err:
            _log.info("a question keeps its buttons: %s", err)

    def _begin(self, part: Coroutine[None, None, None]) -> None:
        """It goes on, also where whoever asked is being cancelled."""
        task = asyncio.create_task(part)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def sections(question: Question) -> list[Block]:
    """The question, sign by sign: every byte that will act is shown, or it is not asked."""
    lines = [
        printable_text(question.words, MAX_WORDS_CHARS),
        f"{question.tool} {spelled_out(question.arguments_json)}",
        f"It needs your word: {printable_line(question.reason, MAX_WORDS_CHARS)}.",
    ]
    if question.always:
        always = printable_line(question.always, MAX_ALWAYS_CHARS)
        lines.append(f"“Always” would be: {always}.")
    text = "\n".join(line for line in lines if line)
    starts = range(0, len(text), PIECE_CHARS)
    return [
        {"type": "section", "text": _plain(text[start : start + PIECE_CHARS])} for start in starts
    ]


def buttons(question: Question) -> Block:
    """One row of them."""
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    return {"type": "actions", "elements": [_button(answer, question) for answer in answers]}


def _button(answer: Answer, question: Question) -> Block:
    label, style = _LABELS[answer]
    known = f"{answer.value}:{question.question_id}"
    return {
        "type": "button",
        "text": _plain(label),
        "action_id": answer.value,
        "value": known,
        **style,
    }


def _plain(text: str) -> Block:
    # No `:word:` in a call becomes a picture
    return {"type": "plain_text", "text": text, "emoji": False}


def _message(address: Address, question: Question, blocks: list[Block]) -> dict[str, object]:
    summary = escaped(printable_line(f"May I use {question.tool}?", SUMMARY_CHARS))
    return {"channel": address.target, "text": summary, "blocks": blocks, **QUIET}


def _thread_of(told: Interaction) -> str | None:
    thread = told.message.thread_ts
    # One that others have answered beneath is the first of its own thread
    return None if thread == told.message.ts else thread
