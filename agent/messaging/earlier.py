"""Earlier messages of a caller who may ask the same again, and the answers that are there."""

import sqlite3

from msgspec import Struct

from agent.messaging.journal import InboxState

# Beyond every character of an id
_END = "\x7f"
_OPEN = frozenset({InboxState.ACCEPTED, InboxState.RUNNING})


class EarlierMessage(Struct, frozen=True):
    """Message that was accepted before.

    Args:
        answer: None while there is none, and where none will come.
    """

    message_id: str
    thread: str
    received_at_s: float
    state: InboxState
    answer: str | None

    @property
    def is_open(self) -> bool:
        """Return true if an answer is still to come."""
        return self.answer is None and self.state in _OPEN


def find(connection: sqlite3.Connection, channel: str, prefix: str) -> EarlierMessage | None:
    """Return the newest message whose id begins so; None if there is none."""
    row = connection.execute(
        "SELECT inbox.message_id, inbox.thread, inbox.received_at_s, inbox.state, outbox.text"
        " FROM inbox LEFT JOIN outbox ON outbox.inbox_id = inbox.id"
        " WHERE inbox.channel = ? AND inbox.message_id >= ? AND inbox.message_id < ?"
        " ORDER BY inbox.id DESC LIMIT 1",
        (channel, prefix, prefix + _END),
    ).fetchone()
    if row is None:
        return None
    message_id, thread, at_s, state, answer = row
    return EarlierMessage(message_id, thread or "", at_s, InboxState(state), answer)


def has_history(connection: sqlite3.Connection, conversation: str) -> bool:
    """Return true if the conversation has turns that a model is shown again."""
    row = connection.execute(
        "SELECT 1 FROM turns WHERE conversation = ? LIMIT 1", (conversation,)
    ).fetchone()
    return row is not None
