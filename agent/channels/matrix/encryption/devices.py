"""The devices of people: what the server says of them, and what of it is believed.

A device has signed its own keys, and the keys that were seen first are its keys for good: one that
comes with others is left out. Those that are gone are remembered: what they said may still arrive.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent.channels.matrix.encryption.signing import is_signed
from agent.channels.matrix.encryption.vault import Shelf
from agent.channels.matrix.events import is_id

_log = logging.getLogger(__name__)

# Of one person; somebody who never signs out of anything has dozens
MAX_DEVICES = 200
MAX_KEY_CHARS = 64


@dataclass(frozen=True, slots=True)
class Device:
    """A program that somebody uses, with its public keys."""

    user: str
    device: str
    curve: str
    ed: str


def track(shelf: Shelf, users: Iterable[str]) -> dict[str, int]:
    """Those to ask the server of, each with what `found` wants to be told."""
    stale = {}
    for user in users:
        shelf.db.execute("INSERT OR IGNORE INTO people (user) VALUES (?)", (user,))
        row = shelf.db.execute("SELECT changed, asked FROM people WHERE user = ?", (user,))
        changed, asked = row.fetchone()
        if changed != asked:
            stale[user] = int(changed)
    return stale


def changed(shelf: Shelf, users: Iterable[str]) -> None:
    """The server says that something is new with them; strangers are of no interest."""
    rows = [(user,) for user in users if isinstance(user, str)]
    shelf.db.executemany("UPDATE people SET changed = changed + 1 WHERE user = ?", rows)


def all_changed(shelf: Shelf) -> None:
    shelf.db.execute("UPDATE people SET changed = changed + 1")


def found(shelf: Shelf, user: str, told: object, asked: int) -> None:
    """Keep what the server said of somebody.

    Args:
        asked: what `track` said; what changed meanwhile is asked again.
    """
    devices = _devices_in(user, told)
    shelf.db.execute("UPDATE devices SET is_gone = 1 WHERE user = ?", (user,))
    for one in devices[:MAX_DEVICES]:
        row = shelf.db.execute(
            "SELECT curve, ed FROM devices WHERE user = ? AND device = ?", (user, one.device)
        ).fetchone()
        if row is None:
            values = (user, one.device, one.curve, one.ed)
            shelf.db.execute("INSERT INTO devices VALUES (?, ?, ?, ?, 0)", values)
        elif row == (one.curve, one.ed):
            where = (user, one.device)
            shelf.db.execute("UPDATE devices SET is_gone = 0 WHERE user = ? AND device = ?", where)
        else:
            _log.warning("a device of %s has other keys than before: it is left out", user)
    shelf.db.execute("UPDATE people SET asked = ? WHERE user = ?", (asked, user))


def devices_of(shelf: Shelf, users: Iterable[str]) -> list[Device]:
    """Those that are there now."""
    rows: list[Device] = []
    for user in users:
        query = "SELECT user, device, curve, ed FROM devices WHERE user = ? AND is_gone = 0"
        rows += [Device(*row) for row in shelf.db.execute(query, (user,))]
    return rows


def device_with(shelf: Shelf, user: str, curve: str) -> Device | None:
    """Return the device with that key, present or gone."""
    query = "SELECT user, device, curve, ed FROM devices WHERE user = ? AND curve = ?"
    row = shelf.db.execute(query, (user, curve)).fetchone()
    return None if row is None else Device(*row)


def _devices_in(user: str, told: object) -> list[Device]:
    """Those that say themselves that they are what they are said to be."""
    found = []
    for name, one in told.items() if isinstance(told, dict) else ():
        device = _device_in(user, name, one)
        if device is None:
            _log.info("a device of %s is not what it says: it is left out", user)
        else:
            found.append(device)
    return found


def _device_in(user: str, name: str, told: object) -> Device | None:
    if not isinstance(told, dict) or not is_id(name):
        return None
    keys = told.get("keys")
    curve, ed = _key(keys, f"curve25519:{name}"), _key(keys, f"ed25519:{name}")
    is_whose = (told.get("user_id"), told.get("device_id")) == (user, name)
    if not (curve and ed and is_whose and is_signed(told, user, name, ed)):
        return None
    return Device(user, name, curve, ed)


def _key(keys: Any, name: str) -> str:
    value = keys.get(name) if isinstance(keys, dict) else None
    return value if isinstance(value, str) and is_key(value) else ""


def is_key(told: str) -> bool:
    """Return true if it is short and plain enough for a key."""
    return told.isascii() and len(told) <= MAX_KEY_CHARS
