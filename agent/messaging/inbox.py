"""Messages from people: accepted once, kept until they are answered.

Functions take a connection inside a transaction, so that a caller can combine them.
"""

import json
import logging
import sqlite3
from collections.abc import Collection
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from agent.memory.base import HeardMessage
from agent.messages import Inbound, Provenance
from agent.messaging.journal import InboxState, OutboxState
from agent.storage.worker import DatabaseWorker

# The open ones by the index of them: a start would read every message that is kept
_EXCUSED = (
    "UPDATE inbox SET state = ?, attempts = max(attempts - 1, 0), cuts = cuts + 1"
    " WHERE state IN ('accepted', 'running') AND state = 'running'"
    " AND boot NOT IN ('', ?) AND cuts < ?"
)


async def answered_since(
    journal: DatabaseWorker, after_id: int, limit: int, left: Collection[int] = ()
) -> list[HeardMessage]:
    """Answered messages with greater ids, oldest first.

    Args:
        left: open messages that are not being answered.
    """
    # A change would write down at once what waits for the next message
    return await journal.look(partial(_read, after_id=after_id, limit=limit, left=left))


def _read(
    db: sqlite3.Connection, after_id: int, limit: int, left: Collection[int]
) -> list[HeardMessage]:
    rows = db.execute(
        "SELECT id, channel, message_id, sender, reply_target, thread, text, provenance,"
        " received_at_s, json_extract(CAST(more AS TEXT), '$.person'),"
        " json_extract(CAST(more AS TEXT), '$.is_group') FROM inbox"
        " WHERE id > ? AND state IN (?, ?) AND strand IS NULL"
        # Beyond a message that is still being answered nobody may look: it would be passed over
        " AND NOT EXISTS (SELECT 1 FROM inbox AS open WHERE open.id < inbox.id"
        " AND open.state IN ('accepted', 'running')"
        " AND open.id NOT IN (SELECT value FROM json_each(?))) ORDER BY id LIMIT ?",
        (
            after_id,
            InboxState.ANSWERED.value,
            InboxState.FAILED.value,
            json.dumps(list(left)),
            limit,
        ),
    )
    return [_heard(row) for row in rows]


def _heard(row: tuple[Any, ...]) -> HeardMessage:
    heard_id, channel, message_id, sender, target, thread, text, trust, at_s, person, group = row
    message = Inbound(
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
    return HeardMessage(
        heard_id,
        message.who,
        message.conversation,
        text,
        message.provenance,
        at_s,
        message.address.chat if group else None,
    )


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


_log = logging.getLogger(__name__)

# Those that something is looked up by; the rest of a message is kept together
_OWN = (
    "channel",
    "message_id",
    "sender",
    "reply_target",
    "thread",
    "strand",
    "text",
    "provenance",
    "received_at_s",
)
_USUAL = {
    field.name: field.default
    for field in fields(Inbound)
    if field.name not in _OWN and field.default is not msgspec.NODEFAULT
}


# So often the machine may end in a turn on a message before the message is taken for the cause:
# people pull plugs, and what changes the world is never run again
MAX_CUTS = 5
# Messages and answers that stay when they are settled: a year of 130 a day, some 40 MB. No platform
# repeats what is older, and what was said is in the memory by then
MOST_SETTLED = 50_000
# So many of each channel stay, however much is said on others: what its platform repeats after a
# long cut is known. Twice what a platform repeats at once
LEAST_OF_CHANNEL = 2_000
# The oldest beyond it go together: each commit writes every page that it touches
TRIM_EVERY = 256
# More than comes meanwhile, so that a store from before this limit shrinks
_MOST_TRIMMED = 4 * TRIM_EVERY
# A restore has still something to tell of the first two
_HELD = ("restored", "untold", "accepted", "running")


class Accepted(Struct, frozen=True):
    """A message that is ours to answer.

    Args:
        attempts: how often a turn has begun on it.
        acted: a turn on it has begun something that changes the world.
        has_begun: its first turn was counted when it was accepted.
        also: messages that were said on in this one, and are answered with it.
    """

    inbox_id: int
    message: Inbound
    attempts: int = 0
    acted: bool = False
    has_begun: bool = False
    also: tuple[int, ...] = ()


def accept(
    connection: sqlite3.Connection, message: Inbound, *, begins: bool = False
) -> Accepted | None:
    """The message, committed by the caller; None when it was accepted before.

    Args:
        begins: a turn begins on it at once: counted here, it needs no commit of its own.
    """
    cursor = connection.execute(
        f"INSERT OR IGNORE INTO inbox ({', '.join(_OWN)}, more, state, attempts, boot)"  # noqa: S608 - constants only
        f" VALUES ({'?, ' * len(_OWN)}?, ?, ?, ?)",
        (
            *(getattr(message, name) for name in _OWN),
            _more(message),
            (InboxState.RUNNING if begins else InboxState.ACCEPTED).value,
            int(begins),
            _boot_id() if begins else "",
        ),
    )
    if cursor.rowcount == 0 or cursor.lastrowid is None:
        return None
    return Accepted(cursor.lastrowid, message, has_begun=begins)


def begin(connection: sqlite3.Connection, inbox_id: int) -> None:
    """A turn begins on the message."""
    connection.execute(
        "UPDATE inbox SET state = ?, attempts = attempts + 1, boot = ? WHERE id = ?",
        (InboxState.RUNNING.value, _boot_id(), inbox_id),
    )


def excuse_cuts(connection: sqlite3.Connection) -> None:
    """Turns that ended with the machine, by a power cut as a rule, are no fault of their messages.

    A turn that began in this start of the machine ended with its process, which may be one.
    """
    connection.execute(_EXCUSED, (InboxState.ACCEPTED.value, _boot_id(), MAX_CUTS))


def put_back(connection: sqlite3.Connection, inbox_id: int) -> None:
    """Its turn was cut short by the end of the agent, through no fault of the message."""
    connection.execute(
        "UPDATE inbox SET state = ?, attempts = max(attempts - 1, 0) WHERE id = ? AND state = ?",
        (InboxState.ACCEPTED.value, inbox_id, InboxState.RUNNING.value),
    )


def again(connection: sqlite3.Connection, accepted: Accepted) -> Accepted:
    """The same message with what its turns have done so far."""
    attempts, acted = connection.execute(
        "SELECT attempts, acted FROM inbox WHERE id = ?", (accepted.inbox_id,)
    ).fetchone()
    return replace(accepted, attempts=attempts, acted=bool(acted), has_begun=False)


def mark_acted(connection: sqlite3.Connection, accepted: Accepted) -> None:
    """The turn is about to change the world: from here on it is never run again by itself."""
    connection.execute("UPDATE inbox SET acted = 1 WHERE id = ?", (accepted.inbox_id,))
    # Open, a cut would leave each of them to a turn of its own, which acts once more
    for said_before in accepted.also:
        close(connection, said_before, InboxState.MERGED)


def close(connection: sqlite3.Connection, inbox_id: int, state: InboxState) -> None:
    connection.execute("UPDATE inbox SET state = ? WHERE id = ?", (state.value, inbox_id))


def close_told(connection: sqlite3.Connection, accepted: Accepted, state: InboxState) -> None:
    """Close a message whose answer was sent and could not be stored, unless that is done."""
    for inbox_id in (accepted.inbox_id, *accepted.also):
        connection.execute(
            "UPDATE inbox SET state = ? WHERE id = ? AND state IN ('accepted', 'running')",
            (state.value, inbox_id),
        )


def state(connection: sqlite3.Connection, inbox_id: int) -> InboxState:
    row = connection.execute("SELECT state FROM inbox WHERE id = ?", (inbox_id,)).fetchone()
    return InboxState(row[0])


def close_all(connection: sqlite3.Connection, channel: str, state: InboxState) -> int:
    """Close everything that is open on a channel; how many messages that were."""
    return connection.execute(
        "UPDATE inbox SET state = ? WHERE channel = ? AND state IN ('accepted', 'running')",
        (state.value, channel),
    ).rowcount


def trim(connection: sqlite3.Connection, most: int = MOST_SETTLED) -> int:
    """Remove the oldest settled messages beyond so many, with their answers; how many went.

    The newest of each channel stay, however much came on others since.
    """
    connection.execute(
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox"
        " WHERE id <= (SELECT max(id) FROM outbox) - ? AND state IN (?, ?) ORDER BY id LIMIT ?)",
        (most, OutboxState.SENT.value, OutboxState.DEAD.value, _MOST_TRIMMED),
    )
    # Those whose answer waits for its person stay with it. The names of the channels and where each
    # begins to be kept come from the index of what is known
    gone = connection.execute(
        "WITH begins AS MATERIALIZED (SELECT channel, (SELECT id FROM inbox AS own"  # noqa: S608 - constants only
        " WHERE own.channel = every.channel ORDER BY id DESC LIMIT 1 OFFSET ?) AS id"
        " FROM (SELECT DISTINCT channel FROM inbox) AS every)"
        " DELETE FROM inbox WHERE id IN (SELECT id FROM inbox"
        f" WHERE id <= (SELECT max(id) FROM inbox) - ? AND state NOT IN {_HELD}"
        " AND id <= (SELECT id FROM begins WHERE begins.channel = inbox.channel)"
        " AND NOT EXISTS (SELECT 1 FROM outbox WHERE inbox_id = inbox.id) ORDER BY id LIMIT ?)"
        " RETURNING attempts",
        (min(most, LEAST_OF_CHANNEL), most, _MOST_TRIMMED),
    ).fetchall()
    connection.execute(
        "UPDATE trimmed SET turns = turns + ?", [sum(attempts for (attempts,) in gone)]
    )
    return len(gone)


def open_ids(connection: sqlite3.Connection) -> frozenset[int]:
    """Return the ids of all messages that are not answered, damaged ones too."""
    rows = connection.execute("SELECT id FROM inbox WHERE state IN ('accepted', 'running')")
    return frozenset(row[0] for row in rows)


def unanswered(connection: sqlite3.Connection) -> list[Accepted]:
    """Return the messages that an earlier run accepted and did not answer, oldest first."""
    rows = connection.execute(
        f"SELECT id, attempts, acted, more, {', '.join(_OWN)} FROM inbox"  # noqa: S608 - constants only
        " WHERE state IN ('accepted', 'running') ORDER BY id"
    )
    return [accepted for row in rows if (accepted := _readable(row)) is not None]


def _readable(row: tuple[Any, ...]) -> Accepted | None:
    try:
        return _accepted(row)
    except msgspec.MsgspecError as err:
        # It is left as it is, for a person to look at
        _log.error("inbox: damaged message (id=%s, error=%s)", row[0], err)
        return None


def _more(message: Inbound) -> bytes | None:
    told = {
        name: value for name, usual in _USUAL.items() if (value := getattr(message, name)) != usual
    }
    return msgspec.json.encode(told) if told else None


def _accepted(row: tuple[Any, ...]) -> Accepted:
    inbox_id, tries, acted, more, *own = row
    told = {} if more is None else msgspec.json.decode(more)
    message = msgspec.convert({**told, **dict(zip(_OWN, own, strict=True))}, Inbound)
    return Accepted(inbox_id, message, tries, bool(acted))


def _boot_id() -> str:
    from agent.machine.boot import boot_id  # noqa: PLC0415 - a message needs it, no start

    return boot_id()
