"""Messages from people: accepted once, kept until they are answered.

Functions take a connection inside a transaction, so that a caller can combine them.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from agent.dispatch.journal import InboxState
from agent.messages import Inbound, Provenance

_COLUMNS = (
    "id, channel, message_id, sender, reply_target, thread, text, provenance, received_at_s,"
    " attempts, acted, strand"
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that is ours to answer.

    Args:
        attempts: how often a turn has begun on it.
        acted: a turn on it has begun something that changes the world.
        has_begun: its first turn was counted when it was accepted.
    """

    inbox_id: int
    inbound: Inbound
    attempts: int = 0
    acted: bool = False
    has_begun: bool = False


def accept(
    connection: sqlite3.Connection, inbound: Inbound, *, begins: bool = False
) -> Accepted | None:
    """The message, committed by the caller; None when it was accepted before.

    Args:
        begins: a turn begins on it at once: counted here, it needs no commit of its own.
    """
    cursor = connection.execute(
        "INSERT OR IGNORE INTO inbox (channel, message_id, sender, reply_target, thread, text,"
        " provenance, received_at_s, state, attempts, strand)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            inbound.channel,
            inbound.message_id,
            inbound.sender,
            inbound.reply_target,
            inbound.thread,
            inbound.text,
            int(inbound.provenance),
            inbound.received_at_s,
            (InboxState.RUNNING if begins else InboxState.ACCEPTED).value,
            int(begins),
            inbound.strand,
        ),
    )
    if cursor.rowcount == 0 or cursor.lastrowid is None:
        return None
    return Accepted(cursor.lastrowid, inbound, has_begun=begins)


def begin(connection: sqlite3.Connection, inbox_id: int) -> None:
    """A turn begins on the message."""
    connection.execute(
        "UPDATE inbox SET state = ?, attempts = attempts + 1 WHERE id = ?",
        (InboxState.RUNNING.value, inbox_id),
    )


def again(connection: sqlite3.Connection, accepted: Accepted) -> Accepted:
    """The same message with what its turns have done so far."""
    attempts, acted = connection.execute(
        "SELECT attempts, acted FROM inbox WHERE id = ?", (accepted.inbox_id,)
    ).fetchone()
    return Accepted(accepted.inbox_id, accepted.inbound, attempts, bool(acted))


def mark_acted(connection: sqlite3.Connection, inbox_id: int) -> None:
    """The turn is about to change the world: from here on it is never run again by itself."""
    connection.execute("UPDATE inbox SET acted = 1 WHERE id = ?", (inbox_id,))


def close(connection: sqlite3.Connection, inbox_id: int, state: InboxState) -> None:
    connection.execute("UPDATE inbox SET state = ? WHERE id = ?", (state.value, inbox_id))


def close_all(connection: sqlite3.Connection, channel: str, state: InboxState) -> int:
    """Close everything that is open on a channel; how many messages that were."""
    return connection.execute(
        "UPDATE inbox SET state = ? WHERE channel = ? AND state IN ('accepted', 'running')",
        (state.value, channel),
    ).rowcount


def unanswered(connection: sqlite3.Connection) -> list[Accepted]:
    """What an earlier run accepted and did not answer, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM inbox WHERE state IN ('accepted', 'running') ORDER BY id"  # noqa: S608 - constants only
    )
    return [_accepted(row) for row in rows]


def _accepted(row: tuple[Any, ...]) -> Accepted:
    inbox_id, channel, message_id, sender, target, thread, text, trust, at_s, *rest = row
    tries, acted, strand = rest
    inbound = Inbound(
        message_id=message_id,
        channel=channel,
        sender=sender,
        reply_target=target,
        text=text,
        received_at_s=at_s,
        provenance=Provenance(trust),
        thread=thread,
        strand=strand,
    )
    return Accepted(inbox_id, inbound, tries, bool(acted))
