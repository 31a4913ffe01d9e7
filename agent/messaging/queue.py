"""Queues: messages of one conversation wait for each other, conversations run side by side.

A turn can be broken off alone; what waits behind it comes next.
"""

import asyncio
import enum
from collections import deque
from collections.abc import Callable, Coroutine

from msgspec import Struct
from msgspec.structs import replace

from agent.messages import Inbound, Whose
from agent.messaging.inbox import Accepted

# Turns at work at once: a few per channel, never so many that a small machine thrashes
TURNS_PER_CHANNEL = 4
MIN_TURNS, MAX_TURNS = 8, 64


class Ending(enum.Enum):
    """Reason why a turn was cancelled."""

    # Its person, or the emergency stop, said so
    STOPPED = "stopped"
    # Its person went on speaking: what they said goes on in the next turn
    INTERRUPTED = "interrupted"


class QueuedMessage(Struct, eq=False):
    """A message that is being answered.

    Args:
        has_acted: it has begun to change the world.
        is_rest: it was not answered; the next message goes on where it ended.
    """

    accepted: Accepted
    ending: Ending | None = None
    has_acted: bool = False
    is_rest: bool = False


Attend = Callable[[QueuedMessage, asyncio.TaskGroup], Coroutine[None, None, None]]


class MessageQueues:
    """The messages that wait, by conversation.

    Args:
        attend: answers one message; it may be cancelled.
        interrupts: a new message of a conversation breaks off the turn on the one before it.
    """

    def __init__(
        self,
        channels: int,
        attend: Attend,
        *,
        interrupts: bool = False,
    ) -> None:
        turns = min(max(channels * TURNS_PER_CHANNEL, MIN_TURNS), MAX_TURNS)
        self._turns = asyncio.Semaphore(turns)
        self._attend = attend
        self._interrupts = interrupts
        self._waiting: dict[str, deque[Accepted]] = {}
        self._at_work: dict[str, tuple[QueuedMessage, asyncio.Task[None]]] = {}
        # Ids of messages, by conversation, whose turn is broken off as soon as it begins
        self._withdrawn: dict[str, set[str]] = {}

    def is_free_for(self, conversation: str) -> bool:
        """Return true if a turn on a message would begin at once."""
        return conversation not in self._waiting and not self._turns.locked()

    def add(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> bool:
        """Have it answered in its order; return true if it waits for a turn that goes on."""
        conversation = accepted.message.conversation
        waiting = self._waiting.get(conversation)
        if waiting is None:
            self._waiting[conversation] = deque([accepted])
            tasks.create_task(self._work(conversation, tasks))
            return False
        waiting.append(accepted)
        return not (self._interrupts and self._interrupt(conversation))

    def stop(self, conversation: str) -> bool:
        """Break off the turn of a conversation, also a waiting one; return true if there was."""
        if conversation in self._at_work:
            return self._break_off(conversation, Ending.STOPPED)
        waiting = self._waiting.get(conversation)
        if not waiting:
            return False
        # All turns are taken: it is broken off as it begins
        self._withdraw(conversation, waiting[0].message.message_id)
        return True

    def withdraw(self, channel: str, message_id: str) -> None:
        """Break off the turn on one message, and no other; also one that has not begun."""

        def is_meant(accepted: Accepted) -> bool:
            message = accepted.message
            return message.channel == channel and message.message_id == message_id

        for conversation, (queued, _) in self._at_work.items():
            if is_meant(queued.accepted):
                self.stop(conversation)
                return
        for conversation, waiting in self._waiting.items():
            if any(map(is_meant, waiting)):
                self._withdraw(conversation, message_id)

    def stop_all(self) -> None:
        for conversation in list(self._at_work):
            self.stop(conversation)

    def _withdraw(self, conversation: str, message_id: str) -> None:
        self._withdrawn.setdefault(conversation, set()).add(message_id)

    def _interrupt(self, conversation: str) -> bool:
        at_work = self._at_work.get(conversation)
        # What has begun to change something is not begun again with other words
        if at_work is None or at_work[0].has_acted:
            return False
        return self._break_off(conversation, Ending.INTERRUPTED)

    def _break_off(self, conversation: str, ending: Ending) -> bool:
        at_work = self._at_work.get(conversation)
        if at_work is None:
            return False
        queued, task = at_work
        if task.done():
            return False
        is_first = queued.ending is None
        if queued.ending is not Ending.STOPPED:
            queued.ending = ending
        # Once: a second time would cut off what is done about the first
        return task.cancel() if is_first else True

    async def _work(self, conversation: str, tasks: asyncio.TaskGroup) -> None:
        waiting = self._waiting[conversation]
        try:
            while waiting:
                async with self._turns:
                    queued = QueuedMessage(waiting[0])
                    # A task of its own, so that stopping a turn leaves the rest of the queue
                    turn = tasks.create_task(self._attend(queued, tasks))
                    # Broken off before its first step it could not even say so
                    await asyncio.sleep(0)
                    waiting.popleft()
                    self._at_work[conversation] = queued, turn
                    if queued.accepted.message.message_id in self._withdrawn.get(conversation, ()):
                        self.stop(conversation)
                    await asyncio.wait([turn])
                    del self._at_work[conversation]
                if queued.is_rest and waiting:
                    # With all that came while it was broken off: each would break off the last
                    while len(waiting) > 1:
                        said_before = waiting.popleft()
                        waiting[0] = merged(said_before, waiting[0])
                    waiting[0] = merged(queued.accepted, waiting[0])
        finally:
            del self._waiting[conversation]
            self._withdrawn.pop(conversation, None)


def merged(earlier: Accepted, later: Accepted) -> Accepted:
    """The later message, with what the earlier one said before it."""
    before, after = earlier.message, later.message
    message = replace(
        after,
        text=f"{before.text}\n\n{after.text}",
        provenance=min(before.provenance, after.provenance),
        quoted="\n".join(filter(None, (before.quoted, after.quoted))),
        quoted_of=_whose(before, after),
        subject=after.subject or before.subject,
        attachments=(*before.attachments, *after.attachments),
        # Somebody else's words stay theirs beside one's own
        is_forwarded=before.is_forwarded or after.is_forwarded,
        # A recogniser may have heard one of them wrongly, whatever was typed beside it
        is_spoken=before.is_spoken or after.is_spoken,
        beside="\n".join(filter(None, dict.fromkeys((before.beside, after.beside)))),
        notes=(*before.notes, *after.notes),
    )
    return replace(later, message=message, also=(*earlier.also, earlier.inbox_id, *later.also))


def _whose(*messages: Inbound) -> Whose:
    """Of the quotations of several: only what is the same of all is known."""
    found = {one.quoted_of for one in messages if one.quoted}
    return found.pop() if len(found) == 1 else Whose.ANYBODYS
