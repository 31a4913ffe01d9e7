"""The models that a conversation can choose from, and the one that it has chosen.

Functions take a connection inside a transaction.
"""

import sqlite3
from collections.abc import Mapping, Sequence

from msgspec import Struct, field


class ModelChoices(Struct, frozen=True):
    """Models that a conversation can choose from.

    Args:
        model: the usual one; empty without a service.
        routes: hints, and what each stands for.
        sorted_to: those hints that messages come to by themselves.
    """

    service: str
    model: str = ""
    routes: Mapping[str, str] = field(default_factory=dict)
    fallbacks: Sequence[str] = ()
    sorted_to: Sequence[str] = ()


def choose(connection: sqlite3.Connection, conversation: str, model: str | None) -> None:
    """Keep a choice; None goes back to what is configured."""
    if model is None:
        connection.execute("DELETE FROM choices WHERE conversation = ?", (conversation,))
    else:
        connection.execute(
            "INSERT INTO choices (conversation, model) VALUES (?, ?)"
            " ON CONFLICT (conversation) DO UPDATE SET model = excluded.model",
            (conversation, model),
        )


def chosen(connection: sqlite3.Connection, conversation: str) -> str | None:
    """None is what is configured."""
    row = connection.execute(
        "SELECT model FROM choices WHERE conversation = ?", (conversation,)
    ).fetchone()
    return None if row is None else str(row[0])
