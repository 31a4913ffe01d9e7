"""Recovery of an agent whose state came out of a backup: tells the owner, and acts on nothing old.

A platform may deliver again what was answered after the backup. Such a message is stored, so that
it counts once, and listed for the owner.
"""

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agent.backup import unconfirmed
from agent.backup.aftermath import RestoreNote, read_note, write_note
from agent.backup.telling import day_time, restore_text
from agent.channels.base import Answer, Question
from agent.errors import StorageFull
from agent.messages import Address, Inbound, Outbound
from agent.messaging import inbox, outbox
from agent.messaging.journal import InboxState
from agent.schedule.trust import SYNCHRONIZED
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# A clock that the network has not set by then is not set at all: nothing waits for it any longer
CLOCK_PATIENCE_S = 600.0
_LOOK_S = 5.0
# Old messages come one after the other: told of together once no further one has come for this long
GATHER_S = 2.0
# As long as somebody may take to read a list
QUESTION_TIMEOUT_S = 3600.0
_MOST_TOLD, _MAX_CHARS = 20, 120


class OwnerReach(Struct, frozen=True):
    """Ways to the owner while the agent is at work.

    Args:
        place: where a message for them goes.
        send: sends a message that is in the outbox.
    """

    place: Callable[[], Address]
    send: Callable[[Outbound], None]
    confirm: Callable[[Question], Awaitable[Answer]]


class Recovery:
    """Recovery after one restore.

    Args:
        synchronized: the file that says that the network has set the clock.
    """

    def __init__(
        self,
        state_dir: Path,
        note: RestoreNote,
        journal: DatabaseWorker,
        clock: Clock,
        synchronized: Path = SYNCHRONIZED,
    ) -> None:
        self._state_dir = state_dir
        self._note = note
        self._journal = journal
        self._clock = clock
        self._synchronized = synchronized
        self._came = asyncio.Event()

    def precedes(self, message: Inbound) -> bool:
        """Return true if a platform says that it was written before the restore."""
        if message.sent_at_s is None or message.strand is not None:
            return False
        # As long as nobody knows when that was, whatever a platform has kept is old
        return not self._note.restored_at_s or message.sent_at_s < self._note.restored_at_s

    async def take(self, message: Inbound) -> None:
        """Store a message, to be listed for the owner."""

        def store(db: sqlite3.Connection) -> None:
            if (accepted := inbox.accept(db, message)) is not None:
                inbox.close(db, accepted.inbox_id, InboxState.UNTOLD)

        try:
            await self._journal.transact(store)
        except StorageFull as err:
            _log.error("restore: old message not listed (id=%s, error=%s)", message.message_id, err)
        self._came.set()

    async def run(self, reach: OwnerReach) -> None:
        """Settle, tell, ask and list until cancelled."""
        if not self._note.restored_at_s:
            await self._settle()
        if not self._note.is_told:
            await self._tell(reach)
            await self._ask(reach)
        self._came.set()
        while True:
            await self._came.wait()
            while self._came.is_set():
                self._came.clear()
                await self._clock.sleep(GATHER_S)
            await self._list(reach)

    async def _settle(self) -> None:
        """Settle the jobs as soon as the clock can be believed."""
        from agent.backup.settlement import JOBS, settle_jobs  # noqa: PLC0415 - after a restore alone
        from agent.schedule.zone import local_zone  # noqa: PLC0415 - as above

        waited_s = 0.0
        while not self._is_dated() and waited_s < CLOCK_PATIENCE_S:
            await self._clock.sleep(_LOOK_S)
            waited_s += _LOOK_S
        now_s = max(self._clock.wall_s(), self._note.made_at_s)
        path = self._state_dir / JOBS
        closed = await asyncio.to_thread(
            settle_jobs, path, self._note.made_at_s, now_s, local_zone()
        )
        await self._keep(
            replace(self._note, restored_at_s=now_s, closed=(*self._note.closed, *closed))
        )

    def _is_dated(self) -> bool:
        wall_s = self._clock.wall_s()
        return wall_s >= self._note.made_at_s and self._synchronized.exists()

    async def _tell(self, reach: OwnerReach) -> None:
        approvals = await asyncio.to_thread(lambda: [*unconfirmed.sentences(self._state_dir)])
        text = restore_text(self._note, approvals)
        to = reach.place()
        try:
            message = await self._journal.transact(partial(_announced_once, to=to, text=text))
        except StorageFull as err:
            _log.error("restore: owner not told, again at the next start (error=%s)", err)
            return
        if message is not None:
            reach.send(message)
        await self._keep(replace(self._note, is_told=True))

    async def _ask(self, reach: OwnerReach) -> None:
        lines = await asyncio.to_thread(lambda: [*unconfirmed.sentences(self._state_dir)])
        if not lines:
            return
        question = Question(
            "restore",
            json.dumps({"approvals": len(lines)}),
            "they were given before the backup and may have been revoked since",
            words=f"Allow again what was allowed in the backup: {'; '.join(lines[:_MOST_TOLD])}",
        )
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_S):
                answer = await reach.confirm(question)
        except TimeoutError:
            return
        if answer is Answer.YES:
            await asyncio.to_thread(unconfirmed.confirm, self._state_dir)
        elif answer is Answer.NO:
            await asyncio.to_thread(unconfirmed.refuse, self._state_dir)

    async def _list(self, reach: OwnerReach) -> None:
        try:
            told = partial(_listed, note=self._note, to=reach.place())
            message = await self._journal.transact(told)
        except StorageFull as err:
            _log.error("restore: old messages not listed yet (error=%s)", err)
            return
        if message is not None:
            reach.send(message)

    async def _keep(self, note: RestoreNote) -> None:
        self._note = note
        try:
            await asyncio.to_thread(write_note, self._state_dir, note)
        except (StorageFull, OSError) as err:
            _log.error("restore: note not written (error=%s)", err)


def open_recovery(state_dir: Path, journal: DatabaseWorker, clock: Clock) -> Recovery | None:
    """Return the recovery of a device that was restored; None of any other."""
    note = read_note(state_dir)
    return None if note is None else Recovery(state_dir, note, journal, clock)


def _announced_once(db: sqlite3.Connection, to: Address, text: str) -> Outbound | None:
    """Put a text into the outbox, if it was never there."""
    known = db.execute("SELECT 1 FROM outbox WHERE text = ?", (text,)).fetchone()
    return None if known else outbox.announce(db, to.channel, to.target, text)


def _listed(db: sqlite3.Connection, note: RestoreNote, to: Address) -> Outbound | None:
    rows = db.execute(
        "SELECT channel, sender, text, received_at_s, json_extract(CAST(more AS TEXT),"
        " '$.sent_at_s') FROM inbox WHERE state = ? ORDER BY id",
        (InboxState.UNTOLD.value,),
    ).fetchall()
    if not rows:
        return None
    lines = [_line(*row) for row in rows[:_MOST_TOLD]]
    if (more := len(rows) - _MOST_TOLD) > 0:
        lines.append(f"- and {more} more")
    count = "This message was" if len(rows) == 1 else f"These {len(rows)} messages were"
    made = day_time(note.made_at_s)
    text = (
        f"{count} written before my restore from the backup of {made}. They may have been answered "
        "already, so I did not act on them:\n" + "\n".join(lines)
    )
    db.execute(
        "UPDATE inbox SET state = ? WHERE state = ?",
        (InboxState.RESTORED.value, InboxState.UNTOLD.value),
    )
    return outbox.announce(db, to.channel, to.target, text)


def _line(
    channel: str, sender: str, text: str, received_at_s: float, sent_at_s: float | None
) -> str:
    at = time.strftime("%m-%d %H:%M", time.localtime(sent_at_s or received_at_s))
    return f"- {at} {sender} on {channel}: {printable_line(text, _MAX_CHARS)}"
