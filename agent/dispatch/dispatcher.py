"""Who works on what: messages are accepted once and answered in order.

Messages of one conversation wait for each other; conversations do not. Commands overtake.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from agent.channels.base import Channel
from agent.crash import crash_point
from agent.dispatch import inbox
from agent.dispatch.attending import STOPPED_TEXT, Attending, unrecorded
from agent.dispatch.backlog import Backlog
from agent.dispatch.commands import Command, command_of, help_text
from agent.dispatch.conversation import Conversations
from agent.dispatch.delivery import Delivery
from agent.dispatch.desk import Desk
from agent.dispatch.door import TurnedAway
from agent.dispatch.inbox import NOT_KEPT, Accepted
from agent.dispatch.journal import InboxState
from agent.dispatch.queues import Queues, Work
from agent.dispatch.rank import Rank
from agent.dispatch.turn import TurnSeams
from agent.errors import StorageFull
from agent.messages import Inbound, Outbound
from agent.storage.worker import DatabaseWorker

if TYPE_CHECKING:
    from agent.dispatch.inquiries import Inquiries
    from agent.dispatch.notices import Notice

_log = logging.getLogger(__name__)

# More than a platform sends again at once
MAX_UNKEPT = 1000

NOTHING_TO_STOP_TEXT = "There is nothing to stop."


class Dispatcher:
    """Takes messages from channels and sees that they are answered."""

    def __init__(
        self,
        journal: DatabaseWorker,
        conversations: Conversations,
        channels: Mapping[str, Channel],
        delivery: Delivery,
        desk: Desk,
    ) -> None:
        self._journal = journal
        self._conversations = conversations
        self._channels = channels
        self._delivery = delivery
        self._desk = desk
        self._oversight = desk.oversight
        # What an earlier run left is taken up: what begins by itself is not mistaken for it
        self.resumed = asyncio.Event()
        attending = Attending(journal, conversations, channels, delivery, self._seams, desk.stands)
        interrupts = conversations.interrupts
        self._queues = Queues(len(channels), attending, interrupts=interrupts)
        self._unkept: deque[tuple[str, str]] = deque(maxlen=MAX_UNKEPT)
        self._backlog = Backlog(journal, delivery)
        # At once where it is set already, as after a restart
        desk.oversight.stop.listen(self._queues.stop_all)

    async def deliver(self, inbound: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Take a message from a channel, if its sender is let in; see `take`."""
        await self._delivery.make_way(inbound, tasks)
        came = await self._desk.admit(inbound)
        if not isinstance(came, TurnedAway):
            await self.take(came.inbound, tasks)
        elif came.text:
            # Nothing of it is kept: there may be a code in it, or a stranger's words
            told = Outbound(
                0,
                inbound.channel,
                inbound.reply_target,
                came.text,
                inbound.message_id,
                inbound.thread,
            )
            tasks.create_task(self._delivery.send_unrecorded(told))

    async def begin(self, inbound: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Take what nobody wrote, after what an earlier run left: it would be taken for that."""
        await self.resumed.wait()
        await self.take(inbound, tasks)

    async def take(self, inbound: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Take a message; when this returns it is committed, or was known already."""
        command = command_of(inbound.text)
        if command is Command.ESTOP:
            # Before anything that can fail or wait
            await self._oversight.engage(inbound)
        inbound = self._delivery.received(inbound)
        begins = command is None and self._queues.is_free_for(inbound.conversation)
        # Claimed before anything waits: two quick messages are not both the answer
        with self._inquiries.claimed(inbound.conversation if command is None else "") as asker:
            accepted = await self._accept(inbound, begins=begins)
            is_answer = accepted is not None and asker.hear(accepted.inbound)
        crash_point("inbox.accepted")
        if accepted is None:
            _log.info("%s %s came again; dropped", inbound.channel, inbound.message_id)
        elif is_answer:
            answered = accepted.inbox_id
            self._journal.later(lambda db: inbox.close(db, answered, InboxState.ANSWERED))
        else:
            self._go_on(accepted, tasks)

    async def _accept(self, inbound: Inbound, *, begins: bool) -> Accepted | None:
        try:
            return await self._journal.transact(lambda db: inbox.accept(db, inbound, begins=begins))
        except StorageFull as err:
            # Answered from memory: once, as far as memory goes back
            known = (inbound.channel, inbound.message_id)
            if known in self._unkept:
                return None
            self._unkept.append(known)
            _log.error("message %s is not kept: %s", inbound.message_id, err)
            return Accepted(NOT_KEPT, inbound, has_begun=True)

    def _go_on(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> None:
        """With a turn, in its order; a command overtakes all, and what is old is only told of."""
        command = command_of(accepted.inbound.text)
        if command is None and self._backlog.is_old(accepted.inbound):
            self._backlog.add(accepted, tasks)
        elif command is None:
            self._queues.add(accepted, tasks)
        else:
            tasks.create_task(self._obey(accepted, command))

    async def resume(self, tasks: asyncio.TaskGroup) -> None:
        """Go on with what an earlier run left: unsent answers first, then unanswered messages."""
        for message in await self._delivery.left_over():
            tasks.create_task(self._delivery.send(message))
        await self._journal.transact(inbox.excuse_cuts)
        for accepted in await self._journal.transact(inbox.unanswered):
            if accepted.inbound.channel in self._channels:
                self._go_on(accepted, tasks)
        self.resumed.set()

    async def catch_up(self, channel: str, recipient: str, tasks: asyncio.TaskGroup) -> None:
        """Send what has waited for somebody who was not there."""
        await self._delivery.catch_up(channel, recipient, tasks)

    async def abandon(self, channel: str) -> int:
        """Close what is open on a channel whose people are gone; how many messages that were.

        What they were to be told unasked stays, for whoever comes.
        """
        left = await self._journal.transact(
            lambda db: inbox.close_all(db, channel, InboxState.ABANDONED)
        )
        for message in await self._delivery.left_over():
            if message.channel == channel and message.in_reply_to:
                await self._delivery.give_up(message)
        return left

    def stop(self, conversation: str) -> bool:
        """Break off the turn of a conversation; whether there was one."""
        return self._queues.stop(conversation)

    @cached_property
    def _inquiries(self) -> "Inquiries":
        from agent.dispatch.inquiries import Inquiries  # noqa: PLC0415 - messages need it, no start

        return Inquiries(self._delivery)

    def _seams(self, work: Work) -> TurnSeams:
        accepted = work.accepted
        channel = self._channels[accepted.inbound.channel]
        return TurnSeams(
            ask=partial(self._desk.ask, accepted.inbound),
            # A turn that nobody waits for may end with nothing to say
            on_text=_unseen
            if accepted.inbound.strand
            else self._conversations.growing(
                partial(channel.draft, accepted.inbound), accepted.inbound
            ),
            before_effect=partial(self._before_effect, work),
            inquire=partial(
                self._inquiries.put,
                accepted.inbound,
                partial(channel.inquire, accepted.inbound.address),
            ),
            abilities=channel.abilities,
            notice=self._notice(accepted.inbound),
        )

    def _notice(self, inbound: Inbound) -> "Notice | None":
        if inbound.strand or not self._conversations.shows_tool_calls:
            return None
        from agent.dispatch.notices import Notices  # noqa: PLC0415 - for those who want it

        return Notices(self._delivery, inbound)

    async def _before_effect(self, work: Work) -> None:
        inbox_id = work.accepted.inbox_id
        if inbox_id == NOT_KEPT:
            raise StorageFull("there is no room even for the message that wants it")
        work.has_acted = True
        await self._journal.transact(lambda db: inbox.mark_acted(db, inbox_id))
        crash_point("effect.intended")

    async def _obey(self, accepted: Accepted, command: Command | str) -> None:
        try:
            text = await self._result_of(command, accepted.inbound)
            await self._delivery.send(await self._conversations.finish(accepted, text))
        except StorageFull as err:
            await self._delivery.send_unrecorded(unrecorded(accepted, f"I cannot do that: {err}"))

    async def _result_of(self, command: Command | str, inbound: Inbound) -> str:
        conversation = inbound.conversation
        match command:
            case Command.HELP:
                return help_text(Rank.of(inbound.provenance))
            case Command.NEW | Command.CLEAR:
                removed = await self._conversations.forget(conversation)
                return f"A new conversation. {removed} messages are gone; memories stay."
            case Command.STOP:
                return STOPPED_TEXT if self.stop(conversation) else NOTHING_TO_STOP_TEXT
            case Command.ESTOP | Command.ESTOP_CLEAR | Command.CONFIGURE:
                return await self._oversight.obey(command, inbound)
            case Command():
                return await self._shown(command, inbound)
            case _:
                known = help_text(Rank.of(inbound.provenance))
                return f"I do not know {command}.\n{known}"

    async def _shown(self, command: Command, inbound: Inbound) -> str:
        if command is Command.STATUS:
            return await self._desk.report(inbound.conversation)
        if command is Command.BOARD:
            from agent.dispatch import boards  # noqa: PLC0415 - for those who ask

            return boards.told(self._oversight.boards)
        if command is Command.MEMORY:
            return await self._conversations.known(inbound)
        if command is Command.JOBS:
            return await self._conversations.jobs(inbound)
        return await self._conversations.model(command, inbound)


async def _unseen(*_of_it: object) -> None:
    """Show nothing of an answer before it is whole."""
