"""Who works on what: messages are accepted once and answered in order.

Messages of one conversation wait for each other; conversations do not. Commands overtake.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from agent.channels.base import Answer, Channel, Question
from agent.dispatch import inbox
from agent.dispatch.commands import HELP_TEXT, Command, command_of
from agent.dispatch.conversation import Conversations
from agent.dispatch.delivery import Delivery
from agent.dispatch.inbox import Accepted
from agent.dispatch.journal import InboxState
from agent.dispatch.oversight import Oversight
from agent.dispatch.turn import TurnSeams
from agent.errors import StorageFull
from agent.messages import Inbound, Outbound, Provenance
from agent.storage.worker import DatabaseWorker

if TYPE_CHECKING:
    from agent.dispatch.inquiries import Inquiries

_log = logging.getLogger(__name__)

# Turns at work at once: a few per channel, never so many that a small machine thrashes
TURNS_PER_CHANNEL = 4
MIN_TURNS, MAX_TURNS = 8, 64
# A message that broke a turn this often is parked
MAX_ATTEMPTS = 2

PARKED_TEXT = "Something in me broke on this message. I keep it; the log says what happened."
STOPPED_TEXT = "Stopped."
NOTHING_TO_STOP_TEXT = "There is nothing to stop."

# Who is known by this name in every conversation
OWNER_ID = "owner"
# Their own words, and what a sensor of theirs said in their name
_FROM_THE_OWNER = frozenset({Provenance.OWNER, Provenance.SENSOR})

# How the agent is, for somebody in a conversation
Report = Callable[[str], Awaitable[str]]


class Dispatcher:
    """Takes messages from channels and sees that they are answered."""

    def __init__(
        self,
        journal: DatabaseWorker,
        conversations: Conversations,
        channels: Mapping[str, Channel],
        delivery: Delivery,
        report: Report,
        oversight: Oversight,
    ) -> None:
        self._journal = journal
        self._conversations = conversations
        self._channels = channels
        self._delivery = delivery
        self._report = report
        self._oversight = oversight
        turns = min(max(len(channels) * TURNS_PER_CHANNEL, MIN_TURNS), MAX_TURNS)
        self._turns = asyncio.Semaphore(turns)
        self._waiting: dict[str, deque[Accepted]] = {}
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()
        # At once where it is set already, as after a restart
        oversight.stop.listen(self._break_off)

    async def deliver(self, inbound: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Take a message; when this returns it is committed, or was known already."""
        command = command_of(inbound.text)
        if command is Command.ESTOP:
            # Before anything that can fail or wait
            await self._oversight.engage(inbound)
        inbound = self._delivery.received(inbound)
        begins = command is None and self._is_free_for(inbound.conversation)
        # Claimed before anything waits: two quick messages are not both the answer
        with self._inquiries.claimed(inbound.conversation if command is None else "") as asker:
            accepted = await self._journal.transact(
                lambda db: inbox.accept(db, inbound, begins=begins)
            )
            is_answer = accepted is not None and asker.hear(accepted.inbound)
        if accepted is None:
            _log.info("%s %s came again; dropped", inbound.channel, inbound.message_id)
        elif is_answer:
            answered = accepted.inbox_id
            await self._journal.transact(lambda db: inbox.close(db, answered, InboxState.ANSWERED))
        elif command is None:
            self._queue(accepted, tasks)
        else:
            tasks.create_task(self._obey(accepted, command))

    async def resume(self, tasks: asyncio.TaskGroup) -> None:
        """Go on with what an earlier run left: unsent answers first, then unanswered messages."""
        for message in await self._delivery.left_over():
            tasks.create_task(self._delivery.send(message))
        for accepted in await self._journal.transact(inbox.unanswered):
            if accepted.inbound.channel in self._channels:
                self._queue(accepted, tasks)

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
        task = self._at_work.get(conversation)
        if task is None:
            return False
        self._stopped.add(conversation)
        return task.cancel()

    def _break_off(self) -> None:
        for conversation in list(self._at_work):
            self.stop(conversation)

    @cached_property
    def _inquiries(self) -> "Inquiries":
        from agent.dispatch.inquiries import Inquiries  # noqa: PLC0415 - messages need it, no start

        return Inquiries(self._delivery)

    def _is_free_for(self, conversation: str) -> bool:
        return conversation not in self._waiting and not self._turns.locked()

    def _queue(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> None:
        conversation = accepted.inbound.conversation
        waiting = self._waiting.get(conversation)
        if waiting is not None:
            waiting.append(accepted)
            return
        self._waiting[conversation] = deque([accepted])
        tasks.create_task(self._work(conversation, tasks))

    async def _work(self, conversation: str, tasks: asyncio.TaskGroup) -> None:
        waiting = self._waiting[conversation]
        try:
            while waiting:
                async with self._turns:
                    accepted = waiting.popleft()
                    # A task of its own, so that stopping a turn leaves the rest of the queue
                    turn = tasks.create_task(self._attend(accepted))
                    self._at_work[conversation] = turn
                    await asyncio.wait([turn])
                    del self._at_work[conversation]
        finally:
            del self._waiting[conversation]

    async def _attend(self, accepted: Accepted) -> None:
        """Answer a message and deliver the answer, also where it cannot be recorded."""
        try:
            if (answer := await self._answer_or_stop(accepted)) is not None:
                await self._delivery.send(answer)
        except StorageFull as err:
            _log.error("message %s: %s", accepted.inbound.message_id, err)
            await self._delivery.send_unrecorded(_unrecorded(accepted, f"I cannot work now: {err}"))

    async def _answer_or_stop(self, accepted: Accepted) -> Outbound | None:
        conversation = accepted.inbound.conversation
        try:
            return await self._answer(accepted)
        except asyncio.CancelledError:
            if conversation not in self._stopped:
                raise
            return await self._conversations.finish(accepted, STOPPED_TEXT)
        finally:
            self._stopped.discard(conversation)

    async def _answer(self, accepted: Accepted) -> Outbound | None:
        current = accepted
        while current.attempts < MAX_ATTEMPTS:
            try:
                return await self._conversations.answer(current, self._seams(current))
            except StorageFull:
                raise
            except Exception:  # noqa: BLE001 - the turn supervisor: one message must not end the others
                _log.exception("message %s broke its turn", accepted.inbound.message_id)
            current = await self._journal.transact(lambda db: inbox.again(db, accepted))
        return await self._conversations.finish(accepted, PARKED_TEXT, state=InboxState.PARKED)

    def _seams(self, accepted: Accepted) -> TurnSeams:
        channel = self._channels[accepted.inbound.channel]
        inbox_id = accepted.inbox_id
        return TurnSeams(
            ask=partial(_ask_the_owner, channel, accepted.inbound),
            # A turn that nobody waits for may end with nothing to say
            on_text=_unseen
            if accepted.inbound.strand
            else partial(channel.draft, accepted.inbound),
            before_effect=lambda: self._journal.transact(lambda db: inbox.mark_acted(db, inbox_id)),
            inquire=partial(
                self._inquiries.put,
                accepted.inbound,
                partial(channel.inquire, accepted.inbound.address),
            ),
        )

    async def _obey(self, accepted: Accepted, command: Command | str) -> None:
        try:
            text = await self._result_of(command, accepted.inbound)
            await self._delivery.send(await self._conversations.finish(accepted, text))
        except StorageFull as err:
            await self._delivery.send_unrecorded(_unrecorded(accepted, f"I cannot do that: {err}"))

    async def _result_of(self, command: Command | str, inbound: Inbound) -> str:
        conversation = inbound.conversation
        match command:
            case Command.HELP:
                return HELP_TEXT
            case Command.NEW:
                removed = await self._conversations.forget(conversation)
                return f"A new conversation. {removed} messages are gone; memories stay."
            case Command.MEMORY | Command.STATUS | Command.MODEL | Command.MODELS:
                return await self._shown(command, inbound)
            case Command.STOP:
                return STOPPED_TEXT if self.stop(conversation) else NOTHING_TO_STOP_TEXT
            case Command.ESTOP | Command.ESTOP_CLEAR | Command.CONFIGURE:
                return await self._oversight.obey(command, inbound)
            case _:
                return f"I do not know {command}.\n{HELP_TEXT}"

    async def _shown(self, command: Command, inbound: Inbound) -> str:
        if command is Command.STATUS:
            return await self._report(inbound.conversation)
        if command is Command.MEMORY:
            return await self._conversations.known(inbound)
        return await self._conversations.model(command, inbound)


async def _ask_the_owner(channel: Channel, inbound: Inbound, question: Question) -> Answer:
    """Whoever is not the owner cannot say yes to what they want themselves."""
    # What the owner has done at times may have been read anywhere, and is still theirs to answer
    is_theirs = inbound.strand is not None and inbound.who == OWNER_ID
    if inbound.provenance not in _FROM_THE_OWNER and not is_theirs:
        return Answer.NONE
    return await channel.ask(inbound.address, question)


async def _unseen(_text: str) -> None:
    """Show nothing of an answer before it is whole."""


def _unrecorded(accepted: Accepted, text: str) -> Outbound:
    inbound = accepted.inbound
    return Outbound(0, inbound.channel, inbound.reply_target, text, inbound.answers, inbound.thread)
