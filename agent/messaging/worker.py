"""Worker that brings one message from its turn to its answer, however the turn ends.

A turn may break, be stopped, be cut short by the end of the agent or find the disk full: in every
case the message is answered, said on in the next one, or kept for the next start.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agent.access.admission import Admitted, Rejected
from agent.access.open_questions import OpenQuestions
from agent.channels.base import Answer, Channel, Mark, Question
from agent.errors import StorageFull
from agent.hardware.estop import EstopControl
from agent.messages import NOT_KEPT, Inbound, Outbound
from agent.messaging import inbox, outbox
from agent.messaging.conversation import Conversations
from agent.messaging.delivery import Delivery
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState
from agent.messaging.queue import Ending, QueuedMessage
from agent.security.approvals import ApprovalVoid
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.system.crash_points import crash_point
from agent.turn.seams import Notice, TurnSeams

# A platform that is slower than this about an ornament does not get it
SHOW_TIMEOUT_S = 10.0
# Who has an answer sooner has not begun to wait
SHOW_AFTER_S = 0.2


class ProgressMarks(Struct, eq=False):
    """Shows how it stands with one message, where its channel can.

    What nobody has written gets no marks, and nobody sees it being worked on.
    """

    channel: Channel
    message: Inbound
    clock: Clock
    _at_work: asyncio.Task[None] | None = None
    _is_over: bool = False
    _pauses: bool = False
    _is_marked: bool = False

    @property
    def has_marks(self) -> bool:
        return self.channel.abilities.shows_marks and not self.message.strand

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Mark the message and show the typing sign until the answer comes."""
        if not self.has_marks and self._typing_every_s is None:
            yield
            return
        self._at_work = asyncio.ensure_future(self._work())
        try:
            yield
        finally:
            self._is_over = True
            # What a platform is being told is told to its end
            if self._pauses:
                self._at_work.cancel()

    async def end(self, mark: Mark) -> None:
        """Mark the result; an answer that came at once needs no mark."""
        if self._at_work is not None:
            await asyncio.wait([self._at_work], timeout=SHOW_TIMEOUT_S)
        if self.has_marks and (self._is_marked or mark is not Mark.DONE):
            await tried(self.channel.mark(self.message, mark))

    @property
    def _typing_every_s(self) -> float | None:
        return None if self.message.strand else self.channel.abilities.typing_every_s

    async def _work(self) -> None:
        await self._pause(SHOW_AFTER_S)
        if self.has_marks and not self._is_over:
            self._is_marked = True
            await tried(self.channel.mark(self.message, Mark.SEEN))
        every_s = self._typing_every_s
        while every_s is not None and not self._is_over:
            await tried(self.channel.typing(self.message))
            await self._pause(every_s)

    async def _pause(self, duration_s: float) -> None:
        if not self._is_over:
            self._pauses = True
            await self.clock.sleep(duration_s)
            self._pauses = False


async def tried(shown: Awaitable[None]) -> None:
    """Do something optional of a channel, or leave it."""
    try:
        async with asyncio.timeout(SHOW_TIMEOUT_S):
            await shown
    except Exception as err:  # noqa: BLE001 - an ornament of a channel ends nothing
        _log.debug("progress: not shown (error=%r)", err)


if TYPE_CHECKING:
    from agent.messaging.tool_messages import ThoughtNotices
    from agent.messaging.user_questions import UserQuestions
    from agent.messaging.voice_answers import Speak

_log = logging.getLogger(__name__)

# A message that broke a turn this often is parked
MAX_ATTEMPTS = 2
PARKED_TEXT = (
    "An error occurred while I worked on this message. I keep the message; the log has the details."
)
STOPPED_TEXT = "Stopped."

_FAILURES = frozenset({InboxState.FAILED, InboxState.PARKED})


# Who a message is from, and whether it goes on
Admit = Callable[[Inbound], Awaitable[Admitted | Rejected]]
# Whether its sender is still let in when its turn comes
Stands = Callable[[Inbound], bool]
# The owner's word on a call in the turn of a message
AskOwner = Callable[[Inbound, Question], Awaitable[Answer]]
# How the device is, for somebody in a conversation
Report = Callable[[str], Awaitable[str]]


class Plot(Protocol):
    """Drawing of a reading, for a message that begins with `/plot`."""

    async def __call__(self, message: Inbound, *, takes_files: bool) -> str:
        """Return the answer; the marker of a picture only where files can go."""


async def nothing_to_plot(message: Inbound, *, takes_files: bool) -> str:
    """Return the answer of an agent that records nothing."""
    del message, takes_files
    return "Nothing is recorded here."


class Desk(Struct, frozen=True):
    """Says who comes in, what they may, and how things stand.

    Args:
        questions: what `ask` has put to the owner and is open.
        plot: draws a reading for `/plot`.
        speak: says answers to what was said aloud; None where nothing speaks.
    """

    admit: Admit
    stands: Stands
    ask: AskOwner
    oversight: EstopControl
    report: Report
    questions: OpenQuestions
    plot: Plot = nothing_to_plot
    speak: "Speak | None" = None


class MessageWorker:
    """Answers messages, one call each.

    Args:
        user_questions: what turns have asked people; loaded with the first message.
    """

    def __init__(
        self,
        journal: DatabaseWorker,
        conversations: Conversations,
        channels: Mapping[str, Channel],
        delivery: Delivery,
        desk: Desk,
        user_questions: "Callable[[], UserQuestions]",
    ) -> None:
        self._journal = journal
        self._conversations = conversations
        self._channels = channels
        self._delivery = delivery
        self._desk = desk
        self._user_questions = user_questions

    async def __call__(self, queued: QueuedMessage, tasks: asyncio.TaskGroup) -> None:
        """Answer it; the answer is on its way when this returns, and need not have arrived."""
        message = queued.accepted.message
        showing = ProgressMarks(self._channels[message.channel], message, self._delivery.clock)
        try:
            async with showing.working():
                answer = await self._answer_or_end(queued)
                crash_point("answer.committed")
        except StorageFull as err:
            _log.error("worker: no answer stored (message=%s, error=%s)", message.message_id, err)
            told = unrecorded(queued.accepted, f"I cannot work now: {err}")
            await self._delivery.answer(queued.accepted, told, InboxState.FAILED)
            await showing.end(Mark.FAILED)
            return
        if answer is None and not message.strand:
            # Half an answer would stand there as if it were one
            tasks.create_task(tried(self._channels[message.channel].break_off(message)))
        if not queued.is_rest:
            # The next turn does not wait for a platform that is slow, nor does a stop reach this
            tasks.create_task(self._deliver(queued.accepted, answer, showing))

    async def _deliver(
        self, accepted: Accepted, answer: Outbound | None, showing: ProgressMarks
    ) -> None:
        arrived = answer is None or await self._delivery.answer(accepted, answer)
        await self._mark(accepted, showing, arrived=arrived)
        if answer is not None and arrived and accepted.message.is_spoken:
            await self._say_aloud(answer)

    async def _mark(self, accepted: Accepted, showing: ProgressMarks, *, arrived: bool) -> None:
        if not showing.has_marks or accepted.inbox_id == NOT_KEPT:
            await showing.end(Mark.DONE)
            return
        state = await self._journal.look(lambda db: inbox.state(db, accepted.inbox_id))
        is_done = arrived and state not in _FAILURES
        await showing.end(Mark.DONE if is_done else Mark.FAILED)

    async def _say_aloud(self, answer: Outbound) -> None:
        """Send the answer as a voice message, too; its text has arrived."""
        kind = self._channels[answer.channel].abilities.voice_type
        if self._desk.speak is None or not kind:
            return
        from agent.messaging.voice_answers import say_aloud  # noqa: PLC0415 - for those who speak

        await say_aloud(answer, kind, self._desk.speak, self._delivery)

    async def _answer_or_end(self, queued: QueuedMessage) -> Outbound | None:
        accepted = queued.accepted
        try:
            return await self._answer(queued)
        except asyncio.CancelledError:
            if queued.ending is None:
                # The agent ends: the message waits for the next start
                self._journal.later(lambda db: inbox.put_back(db, accepted.inbox_id))
                raise
            # The answer may have been committed in the moment before
            kept = await self._journal.look(lambda db: outbox.answer_to(db, accepted.inbox_id))
            if kept is None and queued.ending is Ending.INTERRUPTED and not queued.has_acted:
                queued.is_rest = True
                return None
            return kept or await self._conversations.finish(accepted, STOPPED_TEXT)

    async def _abandon(self, accepted: Accepted) -> None:
        _log.info(
            "worker: dropped, its sender lost access (channel=%s, message=%s)",
            accepted.message.channel,
            accepted.message.message_id,
        )

        def close(db: sqlite3.Connection) -> None:
            # With those that it was to answer as well: open, they hold up what learns from others
            for inbox_id in (accepted.inbox_id, *accepted.also):
                inbox.close(db, inbox_id, InboxState.ABANDONED)

        await self._journal.transact(close)

    async def _answer(self, queued: QueuedMessage) -> Outbound | None:
        current = queued.accepted
        crash_point("turn.begun")
        if not self._desk.stands(current.message):
            # Whoever was revoked while it waited is answered no more
            await self._abandon(current)
            return None
        while current.attempts < MAX_ATTEMPTS:
            try:
                await self._conversations.prepare()
                return await self._conversations.answer(current, self._seams(queued))
            except StorageFull:
                raise
            except Exception:  # noqa: BLE001 - the turn supervisor: one message must not end the others
                _log.exception("worker: turn failed (message=%s)", current.message.message_id)
            if queued.accepted.inbox_id == NOT_KEPT:
                break
            current = await self._journal.transact(lambda db: inbox.again(db, queued.accepted))
        return await self._conversations.finish(
            queued.accepted, PARKED_TEXT, state=InboxState.PARKED
        )

    def _seams(self, queued: QueuedMessage) -> TurnSeams:
        accepted = queued.accepted
        channel = self._channels[accepted.message.channel]
        return TurnSeams(
            ask=partial(self._desk.ask, accepted.message),
            on_text=self._conversations.growing(
                partial(channel.draft, accepted.message), accepted.message
            ),
            before_effect=partial(self._before_effect, queued),
            inquire=partial(
                self._user_questions().put,
                accepted.message,
                partial(channel.inquire, accepted.message.address),
            ),
            abilities=channel.abilities,
            notice=self._notice(accepted.message),
            muse=self._muse(accepted.message),
        )

    def _notice(self, message: Inbound) -> Notice | None:
        if message.strand or not self._conversations.shows[0]:
            return None
        from agent.messaging.tool_messages import ToolNotices  # noqa: PLC0415 - for those who want it

        return ToolNotices(self._delivery, message)

    def _muse(self, message: Inbound) -> "ThoughtNotices | None":
        if message.strand or not self._conversations.shows[1]:
            return None
        from agent.messaging.tool_messages import ThoughtNotices  # noqa: PLC0415 - for those who want it

        return ThoughtNotices(self._delivery, message)

    async def _before_effect(self, queued: QueuedMessage) -> None:
        if queued.accepted.inbox_id == NOT_KEPT:
            raise StorageFull(
                "the storage is full: even the message that wants it could not be stored"
            )
        if not self._desk.stands(queued.accepted.message):
            # Whoever was revoked in the middle of their turn moves nothing more
            raise ApprovalVoid("whoever asked for it has no access any more")
        queued.has_acted = True
        await self._journal.transact(lambda db: inbox.mark_acted(db, queued.accepted))
        crash_point("effect.intended")


def unrecorded(accepted: Accepted, text: str) -> Outbound:
    """Return an answer that cannot be stored."""
    message = accepted.message
    to, about = message.reply_target, message.answers
    return Outbound(NOT_KEPT, message.channel, to, text, about, message.thread)
