"""What was written while nobody heard it: too old to be acted on, so it is told of and not done.

Whoever wrote "turn the pump on" an hour ago may not want it any more; they say so again if they do.
"""

import asyncio
import sqlite3
import time

from agent.clock import Clock
from agent.dispatch import inbox, outbox, session
from agent.dispatch.delivery import Delivery
from agent.dispatch.inbox import Accepted
from agent.dispatch.journal import InboxState
from agent.errors import StorageFull
from agent.messages import ChatMessage, Inbound, Outbound
from agent.passage import outside
from agent.printable import printable_line
from agent.storage.worker import DatabaseWorker

# As long as somebody may wait for an answer and still mean what they wrote
OLD_S = 600.0
# Old messages come one after the other: told of together once no further one has come for this long
GATHER_S = 2.0
# What a person reads; the rest is counted
MAX_TOLD = 10
MAX_TOLD_CHARS = 120

_Place = tuple[str, str, str | None]


class Backlog:
    """Gathers old messages by the place that they came from."""

    def __init__(self, journal: DatabaseWorker, delivery: Delivery) -> None:
        self._journal = journal
        self._delivery = delivery
        self._gathered: dict[_Place, list[Accepted]] = {}

    def is_old(self, inbound: Inbound) -> bool:
        """By the platform's own time; what runs by itself is never late."""
        written_s = inbound.received_at_s if inbound.sent_at_s is None else inbound.sent_at_s
        return inbound.strand is None and self._clock.wall_s() - written_s > OLD_S

    def add(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> None:
        """Have it told of; nothing of it is done."""
        inbound = accepted.inbound
        place = (inbound.channel, inbound.reply_target, inbound.thread)
        gathered = self._gathered.get(place)
        if gathered is not None:
            gathered.append(accepted)
            return
        self._gathered[place] = [accepted]
        tasks.create_task(self._tell(place))

    @property
    def _clock(self) -> Clock:
        return self._delivery.clock

    async def _tell(self, place: _Place) -> None:
        count = 0
        while count < len(self._gathered[place]):
            count = len(self._gathered[place])
            await self._clock.sleep(GATHER_S)
        gathered = self._gathered.pop(place)
        text = told(gathered)
        try:
            answer = await self._journal.transact(lambda db: _close(db, gathered, text))
        except StorageFull:
            # Nothing is closed: the next start tells of them
            return
        await self._delivery.send(answer)


def told(gathered: list[Accepted]) -> str:
    """What was written when, for whoever wrote it."""
    lines = [_line(accepted.inbound) for accepted in gathered[:MAX_TOLD]]
    if (more := len(gathered) - MAX_TOLD) > 0:
        lines.append(f"- and {more} more")
    count = "A message" if len(gathered) == 1 else f"{len(gathered)} messages"
    minutes = f"{OLD_S / 60:.0f} minutes"
    return (
        f"{count} reached me more than {minutes} late, so I did nothing about what they say:\n"
        + "\n".join(lines)
        + "\nPlease write again what you still want."
    )


def _line(inbound: Inbound) -> str:
    at_s = inbound.received_at_s if inbound.sent_at_s is None else inbound.sent_at_s
    at = time.strftime("%H:%M", time.localtime(at_s))
    return f"- {at} {printable_line(inbound.text, MAX_TOLD_CHARS)}"


def _close(db: sqlite3.Connection, gathered: list[Accepted], text: str) -> Outbound:
    for accepted in gathered:
        inbox.close(db, accepted.inbox_id, InboxState.STALE)
        inbound = accepted.inbound
        # So that "do the second one after all" is understood
        trust, whose = inbound.provenance, inbound.sender_name
        asked = outside(inbound.text, trust, whose)
        said = (ChatMessage.user(asked), ChatMessage.assistant(outside(text, trust, whose)))
        session.append(db, inbound.conversation, session.History(said, inbound.provenance))
    return outbox.add(db, gathered[-1], text)
