"""One message from its turn to its answer, whatever becomes of the turn.

A turn may break, be stopped, be cut short by the end of the agent or find the disk full: in every
case the message is answered, said on in the next one, or kept for the next start.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from agent.channels.base import Channel, Mark
from agent.crash import crash_point
from agent.dispatch import inbox, outbox
from agent.dispatch.conversation import Conversations
from agent.dispatch.delivery import Delivery
from agent.dispatch.inbox import Accepted
from agent.dispatch.journal import InboxState
from agent.dispatch.queues import Ending, Work
from agent.dispatch.showing import Showing
from agent.dispatch.turn import TurnSeams
from agent.errors import StorageFull
from agent.messages import Inbound, Outbound
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

# A message that broke a turn this often is parked
MAX_ATTEMPTS = 2
PARKED_TEXT = "Something in me broke on this message. I keep it; the log says what happened."
STOPPED_TEXT = "Stopped."

# What a turn reaches the outside through
Seams = Callable[[Work], TurnSeams]
_FAILURES = frozenset({InboxState.FAILED, InboxState.PARKED})


class Attending:
    """Answers messages, one call each.

    Args:
        seams: made for each turn.
        stands: whether the sender is still let in.
    """

    def __init__(
        self,
        journal: DatabaseWorker,
        conversations: Conversations,
        channels: Mapping[str, Channel],
        delivery: Delivery,
        seams: Seams,
        stands: Callable[[Inbound], bool],
    ) -> None:
        self._journal = journal
        self._conversations = conversations
        self._channels = channels
        self._delivery = delivery
        self._seams = seams
        self._stands = stands

    async def __call__(self, work: Work, tasks: asyncio.TaskGroup) -> None:
        """Answer it; the answer is on its way when this returns, and need not have arrived."""
        inbound = work.accepted.inbound
        showing = Showing(self._channels[inbound.channel], inbound, self._delivery.clock)
        try:
            async with showing.working():
                answer = await self._answer_or_end(work)
                crash_point("answer.committed")
        except StorageFull as err:
            _log.error("message %s: %s", inbound.message_id, err)
            text = f"I cannot work now: {err}"
            await self._delivery.send_unrecorded(unrecorded(work.accepted, text))
            await showing.end(Mark.FAILED)
            return
        if not work.is_rest:
            # The next turn does not wait for a platform that is slow, nor does a stop reach this
            tasks.create_task(self._deliver(work.accepted, answer, showing))

    async def _deliver(self, accepted: Accepted, answer: Outbound | None, showing: Showing) -> None:
        arrived = answer is None or await self._delivery.send(answer)
        if not showing.has_marks or accepted.inbox_id == inbox.NOT_KEPT:
            await showing.end(Mark.DONE)
            return
        state = await self._journal.look(lambda db: inbox.state(db, accepted.inbox_id))
        is_done = arrived and state not in _FAILURES
        await showing.end(Mark.DONE if is_done else Mark.FAILED)

    async def _answer_or_end(self, work: Work) -> Outbound | None:
        accepted = work.accepted
        try:
            return await self._answer(work)
        except asyncio.CancelledError:
            if work.ending is None:
                # The agent ends: the message waits for the next start
                self._journal.later(lambda db: inbox.put_back(db, accepted.inbox_id))
                raise
            # The answer may have been committed in the moment before
            kept = await self._journal.transact(lambda db: outbox.answer_to(db, accepted.inbox_id))
            if kept is None and work.ending is Ending.INTERRUPTED and not work.has_acted:
                work.is_rest = True
                return None
            return kept or await self._conversations.finish(accepted, STOPPED_TEXT)

    async def _abandon(self, accepted: Accepted) -> None:
        _log.info("%s %s is nobody's by now", accepted.inbound.channel, accepted.inbound.message_id)
        inbox_id = accepted.inbox_id
        await self._journal.transact(lambda db: inbox.close(db, inbox_id, InboxState.ABANDONED))

    async def _answer(self, work: Work) -> Outbound | None:
        current = work.accepted
        crash_point("turn.begun")
        if not self._stands(current.inbound):
            # Whoever was revoked while it waited is answered no more
            await self._abandon(current)
            return None
        while current.attempts < MAX_ATTEMPTS:
            try:
                return await self._conversations.answer(current, self._seams(work))
            except StorageFull:
                raise
            except Exception:  # noqa: BLE001 - the turn supervisor: one message must not end the others
                _log.exception("message %s broke its turn", current.inbound.message_id)
            if work.accepted.inbox_id == inbox.NOT_KEPT:
                break
            current = await self._journal.transact(lambda db: inbox.again(db, work.accepted))
        return await self._conversations.finish(work.accepted, PARKED_TEXT, state=InboxState.PARKED)


def unrecorded(accepted: Accepted, text: str) -> Outbound:
    """What is said where nothing can be kept."""
    inbound = accepted.inbound
    return Outbound(0, inbound.channel, inbound.reply_target, text, inbound.answers, inbound.thread)
