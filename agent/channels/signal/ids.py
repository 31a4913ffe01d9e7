"""Targets and ids of Signal messages.

A conversation is a group or a person, who is known by the account's id; a message is known by its
author and the time at which the author's program says it was written.
"""

from msgspec import Struct

# Group ids and account ids could not be told apart for certain
_GROUP = "group."


class SignalMessageId(Struct, frozen=True):
    """Id of a message at Signal."""

    author: str
    timestamp_ms: int


def target_of(group_id: str, person: str) -> str:
    """Return the `reply_target` of a message."""
    return f"{_GROUP}{group_id}" if group_id else person


def parameters_of(target: str) -> dict[str, object]:
    """Return the target as parameters of a call."""
    if target.startswith(_GROUP):
        return {"groupId": target.removeprefix(_GROUP)}
    return {"recipient": [target]}


def id_of(author: str, timestamp_ms: int) -> str:
    """Return the `message_id` of a message."""
    return f"{author}:{timestamp_ms}"


def written_of(message_id: str) -> SignalMessageId | None:
    """Return Signal's id for an id of ours; None for any other."""
    author, _, timestamp = message_id.rpartition(":")
    if not author or not (timestamp.isascii() and timestamp.isdigit()):
        return None
    return SignalMessageId(author, int(timestamp))
