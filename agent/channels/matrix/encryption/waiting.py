"""Messages whose key has not come: kept until it does, over restarts.

A key and what it opens come by different ways, and the server tells of neither twice.
"""

from dataclasses import dataclass

import msgspec

from agent.channels.matrix.encryption.vault import Shelf
from agent.channels.matrix.events import Event

# The oldest go first
MAX_WAITING = 500
# Keys that have not come by then do not
LONGEST_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that cannot be read yet."""

    room: str
    event: Event
    since_s: float


def hold(shelf: Shelf, one: Waiting) -> None:
    told = msgspec.json.encode(one.event).decode()
    values = (one.event.event_id, one.room, told, one.since_s)
    shelf.db.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?)", values)
    shelf.db.execute(
        "DELETE FROM waiting WHERE since_s < ? OR rowid IN "
        "(SELECT rowid FROM waiting ORDER BY rowid DESC LIMIT -1 OFFSET ?)",
        (one.since_s - LONGEST_S, MAX_WAITING),
    )


def held(shelf: Shelf) -> list[Waiting]:
    """In the order in which they came."""
    rows = shelf.db.execute("SELECT room, told, since_s FROM waiting ORDER BY rowid").fetchall()
    return [
        Waiting(room, msgspec.json.decode(told, type=Event), since_s)
        for room, told, since_s in rows
    ]


def release(shelf: Shelf, event_id: str) -> None:
    shelf.db.execute("DELETE FROM waiting WHERE event = ?", (event_id,))
