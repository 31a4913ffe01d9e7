"""Answers to people, and what they are told unasked: kept until the platform has them.

Functions take a connection inside a transaction, so that a caller can combine them.
"""

import sqlite3

from agent.dispatch.inbox import Accepted
from agent.dispatch.journal import OutboxState
from agent.messages import Outbound

# What waits for somebody who is away: as much as a person reads on coming back
MAX_ANNOUNCEMENTS_KEPT = 50


def add(connection: sqlite3.Connection, accepted: Accepted, text: str) -> Outbound:
    """The answer to a message, to be delivered after the commit."""
    inbound = accepted.inbound
    cursor = connection.execute(
        "INSERT INTO outbox (inbox_id, channel, recipient, thread, in_reply_to, text, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            accepted.inbox_id,
            inbound.channel,
            inbound.reply_target,
            inbound.thread,
            inbound.answers,
            text,
            OutboxState.PENDING.value,
        ),
    )
    return Outbound(
        outbox_id=cursor.lastrowid or 0,
        channel=inbound.channel,
        recipient=inbound.reply_target,
        text=text,
        in_reply_to=inbound.answers,
        thread=inbound.thread,
    )


def announce(
    connection: sqlite3.Connection,
    channel: str,
    recipient: str,
    text: str,
    thread: str | None = None,
) -> Outbound:
    """Something that nobody has asked for; of those that wait too long the oldest are given up."""
    cursor = connection.execute(
        "INSERT INTO outbox (channel, recipient, thread, in_reply_to, text, state)"
        " VALUES (?, ?, ?, '', ?, ?)",
        (channel, recipient, thread, text, OutboxState.PENDING.value),
    )
    connection.execute(
        "UPDATE outbox SET state = ? WHERE id IN (SELECT id FROM outbox WHERE state = 'pending'"
        " AND inbox_id IS NULL AND channel = ? AND recipient = ? ORDER BY id DESC LIMIT -1"
        " OFFSET ?)",
        (OutboxState.DEAD.value, channel, recipient, MAX_ANNOUNCEMENTS_KEPT),
    )
    return Outbound(cursor.lastrowid or 0, channel, recipient, text, "", thread)


def mark_sent(connection: sqlite3.Connection, outbox_id: int) -> None:
    _close(connection, outbox_id, OutboxState.SENT)


def mark_dead(connection: sqlite3.Connection, outbox_id: int) -> None:
    """Given up: it stays readable and holds up nobody."""
    _close(connection, outbox_id, OutboxState.DEAD)


def note_failure(connection: sqlite3.Connection, outbox_id: int) -> int:
    """How often the delivery has failed now."""
    (attempts,) = connection.execute(
        "UPDATE outbox SET attempts = attempts + 1 WHERE id = ? RETURNING attempts", (outbox_id,)
    ).fetchone()
    return int(attempts)


def undelivered(connection: sqlite3.Connection) -> list[Outbound]:
    """What an earlier run committed and did not send, oldest first."""
    rows = connection.execute(
        "SELECT id, channel, recipient, text, in_reply_to, thread FROM outbox"
        " WHERE state = 'pending' ORDER BY id"
    )
    return [Outbound(*row) for row in rows]


def _close(connection: sqlite3.Connection, outbox_id: int, state: OutboxState) -> None:
    connection.execute("UPDATE outbox SET state = ? WHERE id = ?", (state.value, outbox_id))
