"""Messages from a time when nothing was received: too old to act on, so they are only listed.

Whoever wrote "turn the pump on" an hour ago may not want it any more; they say so again if they do.
"""

import asyncio
import sqlite3
import time
from collections.abc import Mapping

from msgspec.structs import replace

from agent.channels.base import Channel
from agent.errors import StorageFull
from agent.messages import NOT_KEPT, Attachment, ChatMessage, Inbound, Outbound
from agent.messaging import inbox, outbox
from agent.messaging.delivery import Delivery
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState
from agent.messaging.worker import tried, unrecorded
from agent.passage import outside
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.text.printable import printable_line
from agent.turn import history
from agent.turn.attachments import kept, without_markers

# As long as somebody may wait for an answer and still mean what they wrote
OLD_S = 600.0
# Old messages come one after the other: told of together once no further one has come for this long
GATHER_S = 2.0
# What a person reads; the rest is counted
MAX_TOLD = 10
MAX_TOLD_CHARS = 120
# What a file without a name is called
_CALLED = {"image": "picture", "audio": "voice", "video": "video"}

_Place = tuple[str, str, str | None]


class Backlog:
    """Gathers old messages by the place that they came from."""

    def __init__(
        self, journal: DatabaseWorker, delivery: Delivery, channels: Mapping[str, Channel]
    ) -> None:
        self._journal = journal
        self._delivery = delivery
        self._channels = channels
        self._gathered: dict[_Place, list[Accepted]] = {}

    def is_old(self, message: Inbound) -> bool:
        """By the platform's own time; what runs by itself is never late."""
        written_s = message.received_at_s if message.sent_at_s is None else message.sent_at_s
        return message.strand is None and self._clock.wall_s() - written_s > OLD_S

    def add(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> None:
        """Have it told of; nothing of it is done."""
        message = accepted.message
        place = (message.channel, message.reply_target, message.thread)
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
        text, told = backlog_report(gathered), _together(gathered)
        try:
            answer = await self._journal.transact(lambda db: _close(db, gathered, told, text))
        except StorageFull:
            # Nothing is closed: if this does not arrive, the next start tells of those that it has
            answer = unrecorded(told, text)
        await self._delivery.answer(told, answer, InboxState.STALE)
        for message in (one.message for one in gathered):
            # Of the last it becomes the report; of the others half an answer may be left
            if message.message_id != told.message.message_id:
                await tried(self._channels[message.channel].break_off(message))


def backlog_report(gathered: list[Accepted]) -> str:
    """Return a list of the old messages with their times, for their author."""
    lines = [_line(accepted.message) for accepted in gathered[:MAX_TOLD]]
    if (more := len(gathered) - MAX_TOLD) > 0:
        lines.append(f"- and {more} more")
    count = "A message" if len(gathered) == 1 else f"{len(gathered)} messages"
    minutes = f"more than {OLD_S / 60:.0f} minutes"
    is_sure = all(accepted.message.is_time_sure for accepted in gathered)
    late = f"{minutes} late" if is_sure else f"late, perhaps {minutes}"
    return (
        f"{count} reached me {late}, so I did not act on them:\n"
        + "\n".join(lines)
        + "\nPlease write again what you still want done."
    )


def _line(message: Inbound) -> str:
    at_s = message.received_at_s if message.sent_at_s is None else message.sent_at_s
    # What was kept once may say anything
    at = time.strftime("%H:%M", time.localtime(max(at_s, 0.0)))
    if not message.is_time_sure:
        at = f"after {at}" if at_s > 0 else "some time ago:"
    return f"- {at} {printable_line(_words(message), MAX_TOLD_CHARS)}"


def _words(message: Inbound) -> str:
    """Return the words of a message and names of its files; what became of them if it has none."""
    # What was said aloud stands in the text
    heard = "audio/" if message.is_spoken else "nothing"
    files = (file for file in message.attachments if not file.media_type.startswith(heard))
    said = " ".join(filter(None, (message.text, *map(_called, files))))
    return said or " ".join(message.notes)


def _called(file: Attachment) -> str:
    return f"[{file.name or _CALLED.get(file.media_type.partition('/')[0], 'file')}]"


def _together(gathered: list[Accepted]) -> Accepted:
    """Return one message for all; one that is kept, if there was room for any."""
    kept = [accepted for accepted in gathered if accepted.inbox_id != NOT_KEPT]
    return replace((kept or gathered)[-1], also=tuple(one.inbox_id for one in kept[:-1]))


def _close(db: sqlite3.Connection, gathered: list[Accepted], told: Accepted, text: str) -> Outbound:
    for accepted in gathered:
        inbox.close(db, accepted.inbox_id, InboxState.STALE)
        message = accepted.message
        # So that "do the second one after all" is understood
        trust, whose = message.provenance, message.sender_name
        # Nobody has looked whether its sender may name a picture of the workspace
        asked = kept(replace(message, text=without_markers(message.text)))
        said = (ChatMessage.user(asked), ChatMessage.assistant(outside(text, trust, whose)))
        trust = min(trust, asked.provenance)
        history.append(db, message.conversation, history.History(said, trust))
    return unrecorded(told, text) if told.inbox_id == NOT_KEPT else outbox.add(db, told, text)
