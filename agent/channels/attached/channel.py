"""The channel of a running agent for the terminals of its machine: `barnacle chat` attaches here.

The kernel says who is there. Everybody has one conversation, whatever number of terminals; answers
go to the terminal that asked, and wait in the outbox while nobody is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path

from msgspec import Struct

from agent.channels.attached import frames
from agent.channels.attached.approvals import TerminalQuestions
from agent.channels.attached.session import AdmittedTerminal, TerminalListener, TerminalSession
from agent.channels.attached.socket import listening
from agent.channels.base import Abilities, Answer, Channel, Deliver, Question
from agent.channels.terminal import TerminalChannel
from agent.channels.urgency import is_urgent
from agent.errors import BarnacleError, ChannelError, ChannelRefused, ChannelUnavailable
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A terminal asks one thing at a time, and commands overtake; more is a program gone wild
MAX_UNANSWERED = 16
# How long an answer is kept for the very terminal that asked: it tries again within 3 s
GRACE_S = 10.0
# Messages whose terminal is remembered; an answer to an older one goes to whoever is there
MAX_ASKERS = 1000


class AgentSide(Struct, frozen=True):
    """Agent behind the channel, as far as the channel needs it.

    Args:
        greeting: how the agent is, for somebody who comes.
        stop: breaks off the turn of a conversation.
        catch_up: sends what has waited for a target.
        is_settled: whether a message was accepted and nothing of it is still to come.
        heard_s: how long ago each channel has heard its platform.
    """

    greeting: Callable[[], str]
    stop: Callable[[str], object]
    catch_up: Callable[[str], Coroutine[object, object, None]]
    is_settled: Callable[[str], Awaitable[bool]]
    heard_s: Callable[[], dict[str, float]] = dict


class AttachedTerminals(Channel):
    """Any number of terminals; to the agent they are the terminal."""

    name = TerminalChannel.name
    abilities = Abilities(shows_drafts=True, asks=True, is_local=True)

    def __init__(self, place: Path, state_dir: Path, clock: Clock) -> None:
        self._place = place
        self._state_dir = state_dir
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._behind: AgentSide | None = None
        self._is_open = asyncio.Event()
        # By the time they came, the newest last
        self._sessions: dict[TerminalSession, None] = {}
        # Which terminal said what, for as long as it has no answer
        self._askers: dict[str, TerminalSession] = {}
        self._asking = TerminalQuestions(self._sessions)
        # For whom it is looked, after a while, what waits; and again after that
        self._looking: set[str] = set()
        self._again: set[str] = set()

    def open(self, behind: AgentSide) -> None:
        """Nobody is let in before."""
        self._behind = behind
        self._is_open.set()

    async def listen(self, deliver: Deliver) -> None:
        """Raises ChannelRefused: there cannot be a socket."""
        await self._is_open.wait()
        with listening(self._place, self._state_dir) as made:
            async with asyncio.TaskGroup() as tasks:
                reception = TerminalListener(self._clock, partial(self._serve, deliver, tasks))
                await reception.run(made)

    def is_anybody_there(self, target: str) -> bool:
        return bool(self._at(target))

    def attends(self, message: Outbound) -> bool:
        return bool(self._takers(message))

    async def send(self, message: Outbound) -> None:
        """Raises ChannelUnavailable: nobody was there to read it."""
        said = message.in_reply_to.partition(":")[2]
        outcomes = await asyncio.gather(
            *(session.hand_over(message, said) for session in self._takers(message)),
            return_exceptions=True,
        )
        if None not in outcomes:
            raise ChannelUnavailable("no terminal is attached")
        self._askers.pop(message.in_reply_to, None)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        asker = self._askers.get(inbound.message_id)
        if asker is not None:
            asker.draft(inbound.message_id.partition(":")[2], text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        asker = self._askers.get(address.message_id)
        if asker is not None and asker.is_open and asker.plain:
            return Answer.NONE
        framed = partial(self._asked, address.target, question)
        said = await self._asking.put(address.target, asker, framed)
        return Answer(said) if said in _ANSWERS else Answer.NONE

    async def inquire(self, address: Address, question: str) -> str | None:
        """Raises ChannelRefused: no person is there, or not any more."""
        asker = self._askers.get(address.message_id)
        if asker is not None and asker.is_open and asker.plain:
            raise ChannelRefused("no terminal is attached to answer the question")
        text = frames.sendable(question, frames.MAX_SHOWN_CHARS)
        said = await self._asking.put(
            address.target, asker, lambda number: frames.QuestionFrame(number, text)
        )
        if said is None:
            raise ChannelRefused("the person has left")
        return said

    def _asked(self, target: str, question: Question, number: int) -> frames.ApprovalFrame:
        return frames.ApprovalFrame(
            number,
            question.tool,
            question.arguments_json,
            question.reason,
            question.words,
            question.always,
        )

    def _may_stay(self, session: TerminalSession) -> bool:
        """Return true if the person still has the access with which they came."""
        return True

    def _at(self, target: str) -> list[TerminalSession]:
        return [one for one in self._sessions if one.is_open and one.visitor.target == target]

    def _takers(self, message: Outbound) -> list[TerminalSession]:
        """Return the receivers: the asking terminal, or another one of the same person."""
        there = self._at(message.recipient)
        if not message.in_reply_to:
            return there
        asker = self._askers.get(message.in_reply_to)
        if asker is not None and asker.is_open:
            return [asker]
        away_since_s = self._began_s if asker is None else asker.ended_at_s
        is_gone = asker is not None and asker.has_left
        is_gone = is_gone or self._clock.monotonic_s() - away_since_s >= GRACE_S
        return there[-1:] if is_gone else []

    async def _serve(
        self, deliver: Deliver, tasks: asyncio.TaskGroup, guest: AdmittedTerminal
    ) -> None:
        assert self._behind is not None, "nobody is let in before"
        behind = self._behind
        welcome = frames.WelcomeFrame(frames.VERSION, behind.greeting(), behind.heard_s())
        if guest.looks:
            await guest.wire.send(frames.encoded(welcome))
            return
        session = TerminalSession(guest.wire, guest.who, self._clock, plain=guest.plain)
        session.post(welcome)
        self._sessions[session] = None
        target = session.visitor.target
        try:
            async with asyncio.TaskGroup() as own:
                writing = own.create_task(session.write())
                self._asking.came(session)
                own.create_task(self._behind.catch_up(target))
                self._look_later(target, tasks)
                await self._hear(session, guest, deliver, own)
                writing.cancel()
        except* ChannelError as group:
            _log.info("terminals: terminal gone (reason=%s)", group.exceptions[0])
        finally:
            session.end()
            del self._sessions[session]
            self._asking.left(session)
            self._look_later(target, tasks)

    async def _hear(
        self,
        session: TerminalSession,
        guest: AdmittedTerminal,
        deliver: Deliver,
        own: asyncio.TaskGroup,
    ) -> None:
        while (line := await guest.wire.receive()) is not None:
            if not self._may_stay(session):
                raise ChannelRefused("access has ended")
            match frames.from_terminal(line):
                case frames.SayFrame() as said:
                    # Not waited for: what it brings about may need a word of this terminal
                    own.create_task(self._take(session, said, deliver))
                case frames.StopFrame():
                    self._stop(session)
                case frames.ShownFrame(number):
                    session.note_shown(number)
                case frames.AnswerFrame(number, text):
                    self._asking.answer(session, number, text)
                case frames.LeaveFrame():
                    break
                case frames.HelloFrame():
                    raise ChannelRefused("second hello on one connection")
        # A terminal that lost us still holds its end: this one has ended itself
        session.has_left = True

    async def _take(
        self, session: TerminalSession, said: frames.SayFrame, deliver: Deliver
    ) -> None:
        assert self._behind is not None, "nobody is let in before"
        inbound = self._inbound(session, said)
        # What stops something waits for nothing
        if not is_urgent(said.text) and await self._is_full(session):
            session.post(frames.RefusedFrame(said.id, "wait for the answers first"))
            return
        session.unanswered.add(said.id)
        self._askers[inbound.message_id] = session
        if len(self._askers) > MAX_ASKERS:
            del self._askers[next(iter(self._askers))]
        try:
            # Looked up first: a stop that stops something has ended by the time it is accepted
            had_ended, _ = await asyncio.gather(self._had_ended(inbound), deliver(inbound))
            if not had_ended:
                session.post(frames.AcceptedFrame(said.id))
                return
            why = "that was dealt with meanwhile"
        except BarnacleError as err:
            # Not accepted: the person still has the words
            why = str(err)
        self._askers.pop(inbound.message_id, None)
        session.unanswered.discard(said.id)
        session.post(frames.RefusedFrame(said.id, why))

    async def _had_ended(self, inbound: Inbound) -> bool:
        """Return true if the message was accepted before, and nothing of it is still to come."""
        assert self._behind is not None, "nobody is let in before"
        try:
            return await self._behind.is_settled(inbound.message_id)
        except BarnacleError:
            # Accepting it says what is wrong, or needs nothing that can be wrong
            return False

    async def _is_full(self, session: TerminalSession) -> bool:
        """Return true if too much waits, without what ended with no answer of its own: a stop."""
        assert self._behind is not None, "nobody is let in before"
        if len(session.unanswered) < MAX_UNANSWERED:
            return False
        for said in tuple(session.unanswered):
            message_id = f"{session.visitor.target}:{said}"
            if await self._behind.is_settled(message_id):
                self._askers.pop(message_id, None)
                session.unanswered.discard(said)
        return len(session.unanswered) >= MAX_UNANSWERED

    def _stop(self, session: TerminalSession) -> None:
        assert self._behind is not None, "nobody is let in before"
        if session.unanswered:
            self._behind.stop(self._inbound(session, frames.SayFrame("0", "")).conversation)

    def _inbound(self, session: TerminalSession, said: frames.SayFrame) -> Inbound:
        who = session.visitor
        return Inbound(
            # A terminal chooses its ids: nobody's is somebody else's
            message_id=f"{who.target}:{said.id}",
            channel=self.name,
            sender=who.person,
            reply_target=who.target,
            text=said.text,
            received_at_s=self._clock.wall_s(),
            provenance=who.provenance,
        )

    def _look_later(self, target: str, tasks: asyncio.TaskGroup) -> None:
        """Once a terminal had its time to come back, another one gets what waits for it."""
        if target in self._looking:
            self._again.add(target)
            return
        work = self._look(target)
        try:
            tasks.create_task(work)
        except RuntimeError:
            # Everything ends
            work.close()
        else:
            self._looking.add(target)

    async def _look(self, target: str) -> None:
        assert self._behind is not None, "nobody is let in before"
        try:
            while True:
                await self._clock.sleep(GRACE_S)
                await self._behind.catch_up(target)
                if target not in self._again:
                    return
                self._again.discard(target)
        finally:
            self._looking.discard(target)


_ANSWERS = frozenset(answer.value for answer in (Answer.YES, Answer.NO, Answer.ALWAYS))
