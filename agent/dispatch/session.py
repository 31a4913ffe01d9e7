"""The history of a conversation: what a model is shown again, in an order that models accept.

It begins with a person's message, alternates, and never holds a tool result without its call.
What was read in a turn lowers the trust of every later turn that is shown it.
Functions take a connection inside a transaction.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.messages import ChatMessage, Provenance, Role

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ChatMessage).decode


@dataclass(frozen=True, slots=True)
class History:
    """Messages, and the lowest trust of anything that was read for them."""

    messages: tuple[ChatMessage, ...]
    provenance: Provenance


NOTHING_SAID = History((), Provenance.OWNER)


def append(connection: sqlite3.Connection, conversation: str, said: History) -> None:
    """Add what a turn said, as a whole."""
    connection.executemany(
        "INSERT INTO turns (conversation, message, provenance) VALUES (?, ?, ?)",
        [
            # What a service wanted back belongs to the turn that is over
            (conversation, _encode(replace(message, echo=None, images=())), int(said.provenance))
            for message in said.messages
        ],
    )


def history(connection: sqlite3.Connection, conversation: str, limit: int) -> History:
    """At most the last `limit` messages, oldest first, cut at the beginning of a turn."""
    rows = connection.execute(
        "SELECT message, provenance FROM turns WHERE conversation = ? ORDER BY id DESC LIMIT ?",
        (conversation, limit),
    ).fetchall()
    messages = from_a_turns_beginning([_decode(blob) for blob, _ in reversed(rows)])
    shown = rows[: len(messages)]
    return History(
        messages, Provenance(min((trust for _, trust in shown), default=Provenance.OWNER))
    )


def clear(connection: sqlite3.Connection, conversation: str) -> int:
    """Forget the conversation, not the memories; the number of messages removed."""
    # The next one has its own limits; what the day has cost stays
    connection.execute(
        "DELETE FROM spent WHERE kind = 'conversation' AND name = ?", (conversation,)
    )
    return connection.execute("DELETE FROM turns WHERE conversation = ?", (conversation,)).rowcount


def from_a_turns_beginning(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without the rest of a turn whose beginning is missing."""
    for position, message in enumerate(messages):
        if message.role is Role.USER:
            return tuple(messages[position:])
    return ()
