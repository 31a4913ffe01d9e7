"""The terminal's end of the socket: to the terminal it is the agent, wherever that has gone.

The connection comes and goes; a message that was typed is said again until it is taken, and what
is on the screen already is not shown again.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path

from msgspec import Struct

from agent.channels.attached import frames
from agent.channels.attached.frames import (
    MAX_SHOWN_FRAME_BYTES,
    VERSION,
    ByeFrame,
    HelloFrame,
    WelcomeFrame,
    encoded,
    from_agent,
)
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.socket import connected
from agent.channels.base import Question
from agent.channels.terminal import LOCAL, TerminalChannel
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock

# An agent that is well answers in milliseconds; one that is busy starting, in some seconds
LOOK_TIMEOUT_S = 5.0


async def look(path: Path) -> WelcomeFrame:
    """Return the agent's welcome.

    Raises:
        ChannelRefused: it is not for us, or it speaks another version.
        ChannelUnavailable: nobody listens there.
        TimeoutError: somebody does, and does not answer.
    """
    wire = LineConnection(await asyncio.to_thread(connected, path), MAX_SHOWN_FRAME_BYTES)
    try:
        async with asyncio.timeout(LOOK_TIMEOUT_S):
            await wire.send(encoded(HelloFrame(VERSION, plain=True, looks=True)))
            line = await wire.receive()
    finally:
        wire.close()
    match from_agent(line) if line is not None else None:
        case WelcomeFrame() as welcome:
            return welcome
        case ByeFrame(text):
            raise ChannelRefused(text)
        case _:
            raise ChannelUnavailable("the agent stopped while it was asked")


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
Connect = Callable[[], LineConnection]


class AttachNotices(Struct, frozen=True):
    """Notices to the person about the connection.

    Args:
        greet: how the agent is, once.
        tell: what becomes of the connection.
    """

    greet: Callable[[str], None]
    tell: Callable[[str], None]


class _Said(Struct):
    """A message that has no answer yet, and what there is of one."""

    inbound: Inbound
    taken: asyncio.Future[None]
    draft: str = ""


class AgentConnection:
    """One terminal's way to the agent."""

    def __init__(
        self,
        terminal: TerminalChannel,
        connect: Connect,
        notices: AttachNotices,
        clock: Clock,
        *,
        plain: bool,
    ) -> None:
        self.welcomed = asyncio.Event()
        self._terminal = terminal
        self._connect = connect
        self._notices = notices
        self._clock = clock
        self._plain = plain
        self._wire: LineConnection | None = None
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
                raise ChannelUnavailable(
                    "the agent stopped and did not come back: start it, then run `barnacle chat` "
                    "again"
                )
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
        self._begin(0, self._send(frames.StopFrame()))
        return True

    async def leave(self) -> None:
        try:
            async with asyncio.timeout(_LEAVE_TIMEOUT_S):
                await self._send(frames.LeaveFrame())
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

    async def _greet(self, wire: LineConnection) -> None:
        await self._send(frames.HelloFrame(frames.VERSION, self._plain))
        try:
            async with asyncio.timeout(WELCOME_TIMEOUT_S):
                line = await wire.receive()
        except TimeoutError as err:
            raise ChannelUnavailable("the agent does not answer") from err
        if line is None:
            raise ChannelUnavailable("the agent closed the connection")
        match frames.from_agent(line):
            case frames.WelcomeFrame(text=text):
                if self.welcomed.is_set():
                    self._notices.tell(BACK_TEXT)
                else:
                    self._notices.greet(text)
                self.welcomed.set()
            case frames.ByeFrame(text=text):
                raise ChannelRefused(text)
            case _:
                raise ChannelRefused("unexpected first frame from the agent (expected welcome)")

    async def _obey(self, frame: frames.FromAgent) -> None:
        match frame:
            case frames.AcceptedFrame(message_id):
                self._note_taken(message_id)
            case frames.RefusedFrame(message_id, why):
                await self._give_up(message_id, why)
            case frames.DraftFrame():
                await self._draw(frame)
            case frames.MessageFrame():
                await self._show(frame)
            case frames.ApprovalFrame(number):
                self._begin(number, self._ask(frame))
            case frames.QuestionFrame(number, text):
                self._begin(number, self._inquire(number, text))
            case frames.WithdrawFrame(number) if number in self._tasks:
                self._tasks[number].cancel()
            case frames.ByeFrame(text=text):
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

    async def _draw(self, draft: frames.DraftFrame) -> None:
        said = self._said.get(draft.id)
        if said is not None:
            said.draft = said.draft[: draft.at] + draft.text
            await self._terminal.draft(said.inbound, said.draft)

    async def _show(self, answer: frames.MessageFrame) -> None:
        if not answer.outbox_id or answer.outbox_id not in self._seen:
            await self._terminal.send(_outbound(answer.text, answer.id))
            self._seen.append(answer.outbox_id)
        self._note_taken(answer.id)
        self._said.pop(answer.id, None)
        await self._send(frames.ShownFrame(answer.number))

    async def _ask(self, asked: frames.ApprovalFrame) -> None:
        question = Question(
            asked.tool, asked.arguments_json, asked.reason, asked.words, asked.always
        )
        answer = await self._terminal.ask(_HERE, question)
        await self._send(frames.AnswerFrame(asked.question, answer.value))

    async def _inquire(self, number: int, text: str) -> None:
        try:
            said = await self._terminal.inquire(_HERE, text)
        except ChannelError:
            said = None
        if said is not None:
            said = frames.sendable(said, frames.MAX_SAID_CHARS)
        await self._send(frames.AnswerFrame(number, said))

    async def _say(self, inbound: Inbound) -> None:
        text = frames.sendable(inbound.text, frames.MAX_SAID_CHARS)
        await self._send(frames.SayFrame(inbound.message_id, text))

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


_HERE = Address(TerminalChannel.name, LOCAL, LOCAL)


def _outbound(text: str, in_reply_to: str) -> Outbound:
    return Outbound(0, TerminalChannel.name, LOCAL, text, in_reply_to)
