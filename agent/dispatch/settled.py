"""Whether anything is still to come of a message, for whoever waits for its answer."""

import sqlite3

from agent.dispatch.journal import InboxState, OutboxState
from agent.storage.worker import DatabaseWorker

_OPEN = {InboxState.ACCEPTED.value, InboxState.RUNNING.value}


async def is_settled(journal: DatabaseWorker, channel: str, message_id: str) -> bool:
    """It was accepted, and is neither being worked on nor has an answer that is to be sent."""

    def looked_up(connection: sqlite3.Connection) -> bool:
        row = connection.execute(
            "SELECT inbox.state, outbox.state FROM inbox"
            " LEFT JOIN outbox ON outbox.inbox_id = inbox.id"
            " WHERE inbox.channel = ? AND inbox.message_id = ?",
            (channel, message_id),
        ).fetchone()
        return row is not None and row[0] not in _OPEN and row[1] != OutboxState.PENDING.value

    return await journal.look(looked_up)
