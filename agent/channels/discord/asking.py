"""Questions with buttons beneath them, which only the person who was asked can press.

A button carries the question's id and the answer, nothing that could be forged into another call.
What became of a question is written into its message, and the buttons go.
"""

import asyncio
import logging
from collections.abc import Coroutine

from agent.channels.answers import OpenQuestions
from agent.channels.base import Answer, Question
from agent.channels.discord.api import DiscordApi
from agent.channels.discord.events import Interaction
from agent.channels.discord.places import messages_in
from agent.channels.discord.understanding import NAME
from agent.channels.discord.words import literal
from agent.errors import ChannelError
from agent.messages import Address
from agent.printable import printable_line, printable_text, spelled_out

_log = logging.getLogger(__name__)

# What "always" would stand for, and the sentences around a call
MAX_ALWAYS_CHARS = 400
MAX_WORDS_CHARS = 1000
# Twice as many where every sign has to be escaped, and room for the fence
PIECE_CHARS = 900
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 6
# At the end: what the platform has not taken by then keeps its buttons, which do nothing
LET_GO_S = 3.0
# Kinds of answers to an interaction, and the mark of what only its person sees
SAID, TAKEN, ONLY_TO_THEM = 4, 6, 1 << 6
# Kinds of components: a row, and a button in it by its colour
_ROW, _BUTTON = 1, 2
_LABELS = {Answer.YES: ("Yes", 3), Answer.NO: ("No", 4), Answer.ALWAYS: ("Always", 2)}
_PRESSED = {answer.value: answer for answer in _LABELS}
_OUTCOMES = {
    Answer.YES: "You said yes.",
    Answer.NO: "You said no.",
    Answer.ALWAYS: "You said always.",
    Answer.NONE: "Nobody answered in time: it was not done.",
}


class Asking:
    """Asks in channels, and hears the buttons."""

    def __init__(self, api: DiscordApi, questions: OpenQuestions) -> None:
        self._api = api
        self._questions = questions
        # Words that are still on their way to the platform
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, address: Address, question: Question) -> Answer:
        """The answer; waits until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
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
            self._begin(self._close(address, putting, answer))
        return answer

    def press(self, told: Interaction) -> None:
        """Take a button for what it is worth; the platform is told at once, it waits 3 s."""
        if self._is_taken(told):
            self._begin(self.reply(told, {"type": TAKEN}))
        else:
            self.say_to_them(told, "This question is not open for you.")

    def say_to_them(self, told: Interaction, text: str) -> None:
        """A line that nobody else sees, for what somebody pressed or chose."""
        data = {"content": text, "flags": ONLY_TO_THEM, "allowed_mentions": {"parse": []}}
        self._begin(self.reply(told, {"type": SAID, "data": data}))

    async def reply(self, told: Interaction, body: dict[str, object]) -> None:
        try:
            await self._api.call("POST", f"/interactions/{told.id}/{told.token}/callback", body)
        except ChannelError as err:
            _log.info("an interaction is not answered: %s", err)

    async def aclose(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=LET_GO_S)

    def _is_taken(self, told: Interaction) -> bool:
        name, _, known = told.data.custom_id.partition(":")
        person = told.person
        if person is None or name not in _PRESSED:
            return False
        thread_of = told.channel.thread_of if told.channel is not None else ""
        thread = told.channel_id if thread_of else None
        address = Address(NAME, thread_of or told.channel_id, person.id, thread)
        return self._questions.press(address, known, _PRESSED[name])

    async def _put(self, address: Address, question: Question, told: list[str]) -> str:
        """The id of the message with the buttons."""
        path = messages_in(address.target, address.thread)
        for text in told[:-1]:
            await self._api.call("POST", path, literal(text))
        body = literal(told[-1]) | {"components": buttons(question)}
        shown = await self._api.call("POST", path, body)
        number = shown.get("id") if isinstance(shown, dict) else None
        return number if isinstance(number, str) and number.isdigit() else ""

    def _begin(self, part: Coroutine[None, None, None]) -> None:
        """It goes on, also where whoever asked is being cancelled."""
        task = asyncio.create_task(part)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _close(
        self, address: Address, putting: "asyncio.Future[str]", answer: Answer
    ) -> None:
        """Take the buttons away, and say beneath what became of it."""
        try:
            path = f"{messages_in(address.target, address.thread)}/{await putting}"
            outcome = {"type": _ROW, "components": [_button(_OUTCOMES[answer], 2, "over")]}
            await self._api.call("PATCH", path, {"components": [outcome]})
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
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]


def buttons(question: Question) -> list[dict[str, object]]:
    """One row; ten times less than the 100 characters that a button may carry."""
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    row = [
        _button(*_LABELS[answer], f"{answer.value}:{question.question_id}") for answer in answers
    ]
    return [{"type": _ROW, "components": row}]


def _button(label: str, style: int, known: str) -> dict[str, object]:
    is_over = {"disabled": True} if known == "over" else {}
    return {"type": _BUTTON, "style": style, "label": label, "custom_id": known, **is_over}
