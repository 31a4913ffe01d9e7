"""Answers to people, and what they are told unasked: kept until the platform has them.

Functions take a connection inside a transaction, so that a caller can combine them.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.messages import Attachment, Outbound
from agent.messaging.inbox import TRIM_EVERY, Accepted, trim
from agent.messaging.journal import OutboxState

_Files = tuple[Attachment, ...]

# What waits for somebody who is away: as much as a person reads on coming back
MAX_ANNOUNCEMENTS_KEPT = 50
# What waits together where messages are counted: some screens of a telephone
MAX_JOINED_CHARS = 4000


def add(
    connection: sqlite3.Connection,
    accepted: Accepted,
    text: str,
    files: Sequence[Attachment] = (),
) -> Outbound:
    """The answer to a message, to be delivered after the commit."""
    message = accepted.message
    cursor = connection.execute(
        "INSERT INTO outbox (inbox_id, channel, recipient, thread, in_reply_to, text, state, files)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            accepted.inbox_id,
            message.channel,
            message.reply_target,
            message.thread,
            message.answers,
            text,
            OutboxState.PENDING.value,
            _kept(files),
        ),
    )
    return Outbound(
        outbox_id=cursor.lastrowid or 0,
        channel=message.channel,
        recipient=message.reply_target,
        text=text,
        in_reply_to=message.answers,
        thread=message.thread,
        files=tuple(files),
    )


def announce(
    connection: sqlite3.Connection,
    channel: str,
    recipient: str,
    text: str,
    thread: str | None = None,
    files: Sequence[Attachment] = (),
) -> Outbound:
    """Something that nobody has asked for; of those that wait too long the oldest are given up."""
    cursor = connection.execute(
        "INSERT INTO outbox (channel, recipient, thread, in_reply_to, text, state, files)"
        " VALUES (?, ?, ?, '', ?, ?, ?)",
        (channel, recipient, thread, text, OutboxState.PENDING.value, _kept(files)),
    )
    connection.execute(
        "UPDATE outbox SET state = ? WHERE id IN (SELECT id FROM outbox WHERE state = 'pending'"
        " AND inbox_id IS NULL AND channel = ? AND recipient = ? ORDER BY id DESC LIMIT -1"
        " OFFSET ?)",
        (OutboxState.DEAD.value, channel, recipient, MAX_ANNOUNCEMENTS_KEPT),
    )
    made = cursor.lastrowid or 0
    if made % TRIM_EVERY == 0:
        # Where nobody writes, no message has it done
        trim(connection)
    return Outbound(made, channel, recipient, text, "", thread, files=tuple(files))


def batches(messages: Sequence[Outbound]) -> list[list[Outbound]]:
    """In their order, with those together that may be said in one message."""
    found: list[list[Outbound]] = []
    for one in messages:
        if found and _fits(found[-1], one):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def join(connection: sqlite3.Connection, messages: Sequence[Outbound]) -> Outbound | None:
    """All of them in the first, with which the others have gone; None where one is an answer."""
    first, *others = messages
    for one in messages:
        (is_answer,) = connection.execute(
            "SELECT inbox_id IS NOT NULL FROM outbox WHERE id = ?", (one.outbox_id,)
        ).fetchone()
        if is_answer:
            return None
    joined = replace(first, text="\n\n".join(one.text for one in messages))
    connection.execute("UPDATE outbox SET text = ? WHERE id = ?", (joined.text, joined.outbox_id))
    for one in others:
        mark_sent(connection, one.outbox_id)
    return joined


def note_part(connection: sqlite3.Connection, outbox_id: int, parts_sent: int) -> None:
    """So many parts of it are with the platform."""
    connection.execute("UPDATE outbox SET parts_sent = ? WHERE id = ?", (parts_sent, outbox_id))


def mark_sent(connection: sqlite3.Connection, outbox_id: int) -> None:
    _close(connection, outbox_id, OutboxState.SENT)


def mark_dead(connection: sqlite3.Connection, outbox_id: int) -> None:
    """Given up: it stays readable and holds up nobody."""
    _close(connection, outbox_id, OutboxState.DEAD)


def is_dead(connection: sqlite3.Connection, outbox_id: int) -> bool:
    row = connection.execute("SELECT state FROM outbox WHERE id = ?", (outbox_id,)).fetchone()
    return row is not None and row[0] == OutboxState.DEAD.value


def note_failure(connection: sqlite3.Connection, outbox_id: int) -> int:
    """Count a failed delivery and return the number so far."""
    (attempts,) = connection.execute(
        "UPDATE outbox SET attempts = attempts + 1 WHERE id = ? RETURNING attempts", (outbox_id,)
    ).fetchone()
    return int(attempts)


def undelivered(connection: sqlite3.Connection) -> list[Outbound]:
    """Return the answers that an earlier run committed and did not send, oldest first."""
    rows = connection.execute(
        "SELECT id, channel, recipient, text, in_reply_to, thread, parts_sent, files FROM outbox"
        " WHERE state = 'pending' ORDER BY id"
    )
    return [_outbound(row) for row in rows]


def answer_to(connection: sqlite3.Connection, inbox_id: int) -> Outbound | None:
    """The answer that is there already."""
    row = connection.execute(
        "SELECT id, channel, recipient, text, in_reply_to, thread, parts_sent, files FROM outbox"
        " WHERE inbox_id = ?",
        (inbox_id,),
    ).fetchone()
    return None if row is None else _outbound(row)


def _fits(batch: Sequence[Outbound], message: Outbound) -> bool:
    whole = [*batch, message]
    is_plain = not any(one.in_reply_to or one.files or one.part for one in whole)
    is_short = sum(len(one.text) for one in whole) <= MAX_JOINED_CHARS
    return is_plain and is_short and batch[0].thread == message.thread


def _outbound(row: tuple[Any, ...]) -> Outbound:
    *own, files = row
    return replace(Outbound(*own), files=_files(files), was_left=True)


def _kept(files: Sequence[Attachment]) -> bytes | None:
    return msgspec.json.encode(files) if files else None


def _files(kept: bytes | None) -> _Files:
    return () if kept is None else msgspec.json.decode(kept, type=_Files)


def _close(connection: sqlite3.Connection, outbox_id: int, state: OutboxState) -> None:
    connection.execute("UPDATE outbox SET state = ? WHERE id = ?", (state.value, outbox_id))
