"""The terminal's end of the socket: to the terminal it is the agent, wherever that has gone.

The connection comes and goes; a message that was typed is said again until it is taken, and what
is on the screen already is not shown again.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from agent.channels.attached import frames
from agent.channels.attached.wire import Wire
from agent.channels.base import Question
from agent.channels.terminal import LOCAL, Terminal
from agent.clock import Clock
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Address, Inbound, Outbound

# After the first failure; doubled up to the second. A restart takes a second or two
FIRST_WAIT_S, MAX_WAIT_S = 0.1, 3.0
# A program that writes into a pipe is told after this that nobody is there
PLAIN_PATIENCE_S = 60.0
# An agent that is there says its welcome at once, unless it is only just starting
WELCOME_TIMEOUT_S = 20.0
# The last word is for tidiness
_LEAVE_TIMEOUT_S = 1.0
# Of what was shown, to know it again when it comes twice
_REMEMBERED = 1000
GONE_TEXT = "The agent is gone. I attach again as soon as it is back; Ctrl-C leaves."
BACK_TEXT = "The agent is back."

# Raises a ChannelError where nobody listens
Connect = Callable[[], Wire]


@dataclass(frozen=True, slots=True)
class Notices:
    """Notices to the person about the connection.

    Args:
        greet: how the agent is, once.
        tell: what becomes of the connection.
    """

    greet: Callable[[str], None]
    tell: Callable[[str], None]


@dataclass(slots=True)
class _Said:
    """A message that has no answer yet, and what there is of one."""

    inbound: Inbound
    taken: asyncio.Future[None]
    draft: str = ""


class Attachment:
    """One terminal's way to the agent."""

    def __init__(
        self, terminal: Terminal, connect: Connect, notices: Notices, clock: Clock, *, plain: bool
    ) -> None:
        self.welcomed = asyncio.Event()
        self._terminal = terminal
        self._connect = connect
        self._notices = notices
        self._clock = clock
        self._plain = plain
        self._wire: Wire | None = None
        # Frames are not to be mixed
        self._writing = asyncio.Lock()
        self._said: dict[str, _Said] = {}
        # By the number of the question; others are waited for by nobody
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._seen: deque[int] = deque(maxlen=_REMEMBERED)
        self._stops = 0

    async def run(self) -> None:
        """Stay attached until cancelled.

        Raises:
            ChannelRefused: the agent does not let this terminal in.
            ChannelUnavailable: it was away for too long, for a pipe.
        """
        away_since_s, wait_s = self._clock.monotonic_s(), FIRST_WAIT_S
        while True:
            if await self._attend():
                self._notices.tell(GONE_TEXT)
                away_since_s, wait_s = self._clock.monotonic_s(), FIRST_WAIT_S
            elif self._plain and self._clock.monotonic_s() - away_since_s > PLAIN_PATIENCE_S:
                raise ChannelUnavailable("the agent is gone, and did not come back")
            await self._clock.sleep(wait_s * (1 + random.random()) / 2)  # noqa: S311 - not a secret
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    async def deliver(self, inbound: Inbound) -> None:
        """Return when the agent has it.

        Raises:
            MessageRefused: it will not take it, and why.
        """
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._said[inbound.message_id] = _Said(inbound, taken)
        self._stops = 0
        try:
            await self._say(inbound)
            await taken
        except MessageRefused:
            self._said.pop(inbound.message_id, None)
            raise

    def stop(self) -> bool:
        """Have the turn broken off; False where that is no use: then the person wants to leave."""
        self._stops += 1
        if self._wire is None or not self._said or self._stops > 1:
            return False
        self._begin(0, self._send(frames.Stop()))
        return True

    async def leave(self) -> None:
        try:
            async with asyncio.timeout(_LEAVE_TIMEOUT_S):
                await self._send(frames.Leave())
        except TimeoutError:
            return

    async def _attend(self) -> bool:
        """Be attached for as long as it lasts; whether it was so at all."""
        try:
            wire = self._wire = self._connect()
        except ChannelUnavailable:
            return False
        was_welcomed = False
        try:
            await self._greet(wire)
            was_welcomed = True
            for said in list(self._said.values()):
                await self._say(said.inbound)
            while (line := await wire.receive()) is not None:
                await self._obey(frames.from_agent(line))
        except ChannelUnavailable:
            pass
        finally:
            self._wire = None
            wire.close()
            await self._end_tasks()
        return was_welcomed

    async def _greet(self, wire: Wire) -> None:
        await self._send(frames.Hello(frames.VERSION, self._plain))
        try:
            async with asyncio.timeout(WELCOME_TIMEOUT_S):
                line = await wire.receive()
        except TimeoutError as err:
            raise ChannelUnavailable("the agent says nothing") from err
        if line is None:
            raise ChannelUnavailable("the agent has hung up")
        match frames.from_agent(line):
            case frames.Welcome(text=text):
                if self.welcomed.is_set():
                    self._notices.tell(BACK_TEXT)
                else:
                    self._notices.greet(text)
                self.welcomed.set()
            case frames.Bye(text=text):
                raise ChannelRefused(text)
            case _:
                raise ChannelRefused("the agent does not say welcome first")

    async def _obey(self, frame: frames.FromAgent) -> None:
        match frame:
            case frames.Taken(message_id):
                self._note_taken(message_id)
            case frames.Refused(message_id, why):
                await self._give_up(message_id, why)
            case frames.Draft():
                await self._draw(frame)
            case frames.Answer():
                await self._show(frame)
            case frames.Ask(number):
                self._begin(number, self._ask(frame))
            case frames.Inquire(number, text):
                self._begin(number, self._inquire(number, text))
            case frames.Withdraw(number) if number in self._tasks:
                self._tasks[number].cancel()
            case frames.Bye(text=text):
                raise ChannelUnavailable(text)

    def _note_taken(self, message_id: str) -> None:
        said = self._said.get(message_id)
        if said is not None and not said.taken.done():
            said.taken.set_result(None)

    async def _give_up(self, message_id: str, why: str) -> None:
        said = self._said.get(message_id)
        if said is None:
            return
        if not said.taken.done():
            said.taken.set_exception(MessageRefused(why))
            return
        del self._said[message_id]
        await self._terminal.send(_outbound(why, message_id))

    async def _draw(self, draft: frames.Draft) -> None:
        said = self._said.get(draft.id)
        if said is not None:
            said.draft = said.draft[: draft.at] + draft.text
            await self._terminal.draft(said.inbound, said.draft)

    async def _show(self, answer: frames.Answer) -> None:
        if not answer.outbox_id or answer.outbox_id not in self._seen:
            await self._terminal.send(_outbound(answer.text, answer.id))
            self._seen.append(answer.outbox_id)
        self._note_taken(answer.id)
        self._said.pop(answer.id, None)
        await self._send(frames.Shown(answer.number))

    async def _ask(self, asked: frames.Ask) -> None:
        question = Question(
            asked.tool, asked.arguments_json, asked.reason, asked.words, asked.always
        )
        answer = await self._terminal.ask(_HERE, question)
        await self._send(frames.Told(asked.question, answer.value))

    async def _inquire(self, number: int, text: str) -> None:
        try:
            said = await self._terminal.inquire(_HERE, text)
        except ChannelError:
            said = None
        if said is not None:
            said = frames.sendable(said, frames.MAX_SAID_CHARS)
        await self._send(frames.Told(number, said))

    async def _say(self, inbound: Inbound) -> None:
        text = frames.sendable(inbound.text, frames.MAX_SAID_CHARS)
        await self._send(frames.Say(inbound.message_id, text))

    async def _send(self, frame: frames.FromTerminal) -> None:
        """Send a frame if the connection is up; otherwise it is repeated later, or is obsolete."""
        async with self._writing:
            try:
                if self._wire is not None:
                    await self._wire.send(frames.encoded(frame))
            except ChannelUnavailable:
                # Whoever reads hears of it
                return

    def _begin(self, number: int, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[number] = task
        task.add_done_callback(lambda done: self._forget(number, done))

    def _forget(self, number: int, done: asyncio.Task[None]) -> None:
        if self._tasks.get(number) is done:
            del self._tasks[number]

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


_HERE = Address(Terminal.name, LOCAL, LOCAL)


def _outbound(text: str, in_reply_to: str) -> Outbound:
    return Outbound(0, Terminal.name, LOCAL, text, in_reply_to)
