"""Terminal channel: the person at the keyboard is the owner.

With `plain` it serves pipes: one line in, one line out, and a line for what comes by itself.
"""

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.base import Abilities, Answer, Channel, Deliver, Question
from agent.errors import BarnacleError, ChannelRefused
from agent.messages import Address, Inbound, Outbound, Provenance
from agent.system.clock import Clock
from agent.text.printable import printable_text, spelled_out, spelled_text

if TYPE_CHECKING:
    from agent.channels.lines import LineSource

# The person at the keyboard of the device
OWNER = "owner"
# Where answers go: there is one screen
LOCAL = "local"
# Longest answer that is shown; a model cannot flood the screen
MAX_SHOWN_CHARS = 256 * 1024
# What "always" would stand for, in one line
MAX_ALWAYS_CHARS = 400
# An answer that takes longer than this to begin is announced
PATIENCE_S = 1.0
_WAITING = "…"
_ANSWER_PROMPT = "[y]es / [n]o / [a]lways: "
_WORDS_PROMPT = "? "
_YES_NO_PROMPT = "[y]es / [n]o: "
_ERASE_LINE = "\x1b[K"
_ANSWERS = {
    "y": Answer.YES,
    "yes": Answer.YES,
    "n": Answer.NO,
    "no": Answer.NO,
    "a": Answer.ALWAYS,
    "always": Answer.ALWAYS,
}
_LEAVE = frozenset({"/quit", "/exit"})

Write = Callable[[str], None]


class _Waiting(Struct):
    """The message whose answer the person waits for, and what is on the screen of it."""

    inbound: Inbound
    answered: asyncio.Event
    shown: str = ""
    announced: bool = False


class TerminalChannel(Channel):
    """One person, one conversation, one message at a time."""

    name = "terminal"
    abilities = Abilities(shows_drafts=True, asks=True, is_local=True)

    def __init__(
        self, lines: "LineSource", write: Write, clock: Clock, prompt: str, *, plain: bool
    ) -> None:
        self._lines = lines
        self._write = write
        self._clock = clock
        self._prompt = prompt
        self._plain = plain
        self._run_id = uuid.uuid4().hex
        self._count = 0
        self._waiting: _Waiting | None = None
        # While a question is on the screen it is the person who is waited for
        self._is_asking = False
        # One question at a time, whichever turn asks it
        self._questions = asyncio.Lock()
        # The person is at the prompt, and what gets the line if a question comes meanwhile
        self._at_prompt = False
        self._wanted: asyncio.Future[str | None] | None = None
        # Takes a command that is written where an answer was asked for
        self._deliver: Deliver | None = None

    @property
    def busy_conversation(self) -> str | None:
        """The conversation that is waiting for an answer, if any."""
        return None if self._waiting is None else self._waiting.inbound.conversation

    async def listen(self, deliver: Deliver) -> None:
        """Until the input ends or the person leaves."""
        self._deliver = deliver
        while True:
            line = await self._line_for_the_agent()
            if line is None:
                self._write("" if self._plain else "\n")
                return
            if line.strip() in _LEAVE:
                return
            if line.strip():
                await self._converse(line.strip(), deliver)
            elif self._plain:
                self._write("\n")

    async def send(self, message: Outbound) -> None:
        waiting = self._waiting
        if waiting is None or waiting.inbound.message_id != message.in_reply_to:
            self.tell(message.text)
            return
        self._show(waiting, message.text)
        self._write("\n")
        waiting.answered.set()

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        waiting = self._waiting
        if self._plain or waiting is None or waiting.inbound is not inbound:
            return
        self._show(waiting, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        if self._plain:
            return Answer.NONE
        shown = json.dumps(json.loads(question.arguments_json or "{}"), ensure_ascii=False)
        # All that will act is seen, also what would not be visible as it is
        shown = spelled_out(shown)
        async with self._questions:
            self._erase_announcement()
            words = f"{spelled_text(question.words, MAX_SHOWN_CHARS)}\n" if question.words else ""
            always = spelled_out(question.always)[:MAX_ALWAYS_CHARS]
            stands = f"“Always” approves from now on: {always}.\n" if always else ""
            asked = f"{question.tool} {shown}\nWhy I ask: {spelled_out(question.reason)}.\n"
            self._write(f"\n{words}{asked}{stands}")
            self._is_asking = True
            try:
                return await self._read_answer(may_stand=bool(always))
            finally:
                self._is_asking = False

    async def inquire(self, address: Address, question: str) -> str | None:
        """Raises ChannelRefused: no person is here, or not any more."""
        if self._plain:
            raise ChannelRefused("no person is here to answer")
        async with self._questions:
            self._erase_announcement()
            self._write(f"\n{self._fit(question)}\n")
            self._is_asking = True
            try:
                line = await self._line_for_a_question(_WORDS_PROMPT)
            finally:
                self._is_asking = False
        if line is None:
            raise ChannelRefused("the person has left")
        return line.strip()

    async def _read_answer(self, *, may_stand: bool) -> Answer:
        prompt = _ANSWER_PROMPT if may_stand else _YES_NO_PROMPT
        while True:
            line = await self._line_for_a_question(prompt)
            if line is None:
                return Answer.NONE
            answer = _ANSWERS.get(line.strip().lower())
            if answer is not None and (may_stand or answer is not Answer.ALWAYS):
                return answer

    async def _line_for_the_agent(self) -> str | None:
        while True:
            if self._wanted is None:
                async with self._questions:
                    pass
            self._at_prompt = True
            try:
                line = await self._lines.read(self._prompt)
            finally:
                self._at_prompt = False
            wanted, self._wanted = self._wanted, None
            # A command overtakes a question that came while the person was writing
            if wanted is None or (line or "").startswith("/"):
                self._wanted = wanted
                return line
            wanted.set_result(line)
            if line is None:
                return None

    async def _line_for_a_question(self, prompt: str) -> str | None:
        """The next line that says something and is no command: those overtake."""
        while True:
            line = await self._next_line(prompt)
            if line is None or (line.strip() and not line.startswith("/")):
                return line
            if line.strip() and self._deliver is not None:
                await self._deliver(self._inbound(line.strip()))

    async def _next_line(self, prompt: str) -> str | None:
        if not self._at_prompt:
            return await self._lines.read(prompt)
        # The line that is being waited for belongs to the question
        self._write(prompt)
        wanted: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._wanted = wanted
        try:
            return await wanted
        finally:
            if self._wanted is wanted:
                self._wanted = None

    def tell(self, text: str) -> None:
        """Print a line that is not the agent's, such as a lost connection."""
        self._write_between(f"{self._fit(text)}\n")

    def _write_between(self, text: str) -> None:
        """Print a line above the prompt at which the person may be typing."""
        self._break_line()
        if self._at_prompt and not self._plain:
            self._write(f"\r{_ERASE_LINE}{text}{self._prompt}")
        else:
            self._write(text)

    def _break_line(self) -> None:
        """Of an answer that has begun to grow the rest comes on a line of its own."""
        self._erase_announcement()
        if self._waiting is not None and self._waiting.shown:
            self._write("\n")
            self._waiting.shown = ""

    async def _converse(self, text: str, deliver: Deliver) -> None:
        inbound = self._inbound(text)
        waiting = self._waiting = _Waiting(inbound, asyncio.Event())
        try:
            await deliver(inbound)
            await self._wait(waiting)
        except BarnacleError as err:
            # Not accepted: the person still has the words and can say them again
            self._write(f"{self._fit(f'I cannot take that message: {err}')}\n")
        finally:
            self._waiting = None

    def _inbound(self, text: str) -> Inbound:
        self._count += 1
        return Inbound(
            message_id=f"{self._run_id}-{self._count}",
            channel=self.name,
            sender=OWNER,
            reply_target=LOCAL,
            text=text,
            received_at_s=self._clock.wall_s(),
            provenance=Provenance.OWNER,
        )

    async def _wait(self, waiting: _Waiting) -> None:
        if not self._plain:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await waiting.answered.wait()
            except TimeoutError:
                self._announce(waiting)
        await waiting.answered.wait()

    def _announce(self, waiting: _Waiting) -> None:
        if not waiting.shown and not self._is_asking:
            waiting.announced = True
            self._write(_WAITING)

    def _erase_announcement(self) -> None:
        if self._waiting is not None and self._waiting.announced:
            self._waiting.announced = False
            self._write("\r \r")

    def _show(self, waiting: _Waiting, text: str) -> None:
        fit = self._fit(text)
        self._erase_announcement()
        if fit.startswith(waiting.shown):
            self._write(fit[len(waiting.shown) :])
        else:
            self._write(f"\n{fit}")
        waiting.shown = fit

    def _fit(self, text: str) -> str:
        shown = printable_text(text, MAX_SHOWN_CHARS)
        return " ".join(shown.split()) if self._plain else shown
