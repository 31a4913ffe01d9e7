"""What people said and got an answer to, read from the inbox for those who remember it.

What a job or a watch began was said by nobody.
"""

import sqlite3
from functools import partial

from agent.dispatch.journal import InboxState
from agent.memory.base import Heard
from agent.messages import Inbound, Provenance
from agent.storage.worker import DatabaseWorker


async def heard_since(journal: DatabaseWorker, after_id: int, limit: int) -> list[Heard]:
    """Answered messages with greater ids, oldest first."""
    return await journal.transact(partial(_read, after_id=after_id, limit=limit))


def _read(db: sqlite3.Connection, after_id: int, limit: int) -> list[Heard]:
    rows = db.execute(
        "SELECT id, channel, message_id, sender, reply_target, thread, text, provenance,"
        " received_at_s, json_extract(CAST(more AS TEXT), '$.person') FROM inbox"
        " WHERE id > ? AND state IN (?, ?) AND strand IS NULL"
        # Beyond a message that is still being answered nobody may look: it would be passed over
        " AND NOT EXISTS (SELECT 1 FROM inbox AS open WHERE open.id < inbox.id"
        " AND open.state IN ('accepted', 'running')) ORDER BY id LIMIT ?",
        (after_id, InboxState.ANSWERED.value, InboxState.FAILED.value, limit),
    )
    return [_heard(row) for row in rows]


def _heard(row: tuple[int, str, str, str, str, str | None, str, int, float, str | None]) -> Heard:
    heard_id, channel, message_id, sender, target, thread, text, trust, at_s, person = row
    inbound = Inbound(
        message_id=message_id,
        channel=channel,
        sender=sender,
        reply_target=target,
        text=text,
        received_at_s=at_s,
        provenance=Provenance(trust),
        thread=thread,
        person=person or "",
    )
    return Heard(heard_id, inbound.who, inbound.conversation, text, inbound.provenance)
