"""Devices of people, as the server lists them and as far as their signatures are right.

A device has signed its own keys, and the keys that were seen first are its keys for good: one that
comes with others is left out. Those that are gone are remembered: what they said may still arrive.
"""

import logging
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from agent.channels.matrix.encryption.signatures import is_signed
from agent.channels.matrix.encryption.vault import KeyVaultSession
from agent.channels.matrix.events import is_id

_log = logging.getLogger(__name__)

# Of one person; somebody who never signs out of anything has dozens
MAX_DEVICES = 200
MAX_KEY_CHARS = 64


class MatrixDevice(Struct, frozen=True):
    """Device of a person, with its public keys."""

    user: str
    device: str
    curve: str
    ed: str


def track(shelf: KeyVaultSession, users: Iterable[str]) -> dict[str, int]:
    """Return the people to ask the server about, each with a token for `found`."""
    stale = {}
    for user in users:
        shelf.db.execute("INSERT OR IGNORE INTO people (user) VALUES (?)", (user,))
        row = shelf.db.execute("SELECT changed, asked FROM people WHERE user = ?", (user,))
        changed, asked = row.fetchone()
        if changed != asked:
            stale[user] = int(changed)
    return stale


def changed(shelf: KeyVaultSession, users: Iterable[str]) -> None:
    """Mark people whose devices changed; strangers are ignored."""
    rows = [(user,) for user in users if isinstance(user, str)]
    shelf.db.executemany("UPDATE people SET changed = changed + 1 WHERE user = ?", rows)


def all_changed(shelf: KeyVaultSession) -> None:
    shelf.db.execute("UPDATE people SET changed = changed + 1")


def found(shelf: KeyVaultSession, user: str, told: object, asked: int) -> None:
    """Store the devices that the server listed for a person.

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
            _log.warning("matrix: device ignored, its keys changed (user=%s)", user)
    shelf.db.execute("UPDATE people SET asked = ? WHERE user = ?", (asked, user))


def devices_of(shelf: KeyVaultSession, users: Iterable[str]) -> list[MatrixDevice]:
    """Return the current devices of people."""
    rows: list[MatrixDevice] = []
    for user in users:
        query = "SELECT user, device, curve, ed FROM devices WHERE user = ? AND is_gone = 0"
        rows += [MatrixDevice(*row) for row in shelf.db.execute(query, (user,))]
    return rows


def device_with(shelf: KeyVaultSession, user: str, curve: str) -> MatrixDevice | None:
    """Return the device with that key, present or gone."""
    query = "SELECT user, device, curve, ed FROM devices WHERE user = ? AND curve = ?"
    row = shelf.db.execute(query, (user, curve)).fetchone()
    return None if row is None else MatrixDevice(*row)


def _devices_in(user: str, told: object) -> list[MatrixDevice]:
    """Return the devices whose own signature is right."""
    found = []
    for name, one in told.items() if isinstance(told, dict) else ():
        device = _device_in(user, name, one)
        if device is None:
            _log.info("matrix: device ignored, its keys are not signed by it (user=%s)", user)
        else:
            found.append(device)
    return found


def _device_in(user: str, name: str, told: object) -> MatrixDevice | None:
    if not isinstance(told, dict) or not is_id(name):
        return None
    keys = told.get("keys")
    curve, ed = _key(keys, f"curve25519:{name}"), _key(keys, f"ed25519:{name}")
    is_whose = (told.get("user_id"), told.get("device_id")) == (user, name)
    if not (curve and ed and is_whose and is_signed(told, user, name, ed)):
        return None
    return MatrixDevice(user, name, curve, ed)


def _key(keys: Any, name: str) -> str:
    value = keys.get(name) if isinstance(keys, dict) else None
    return value if isinstance(value, str) and is_key(value) else ""


def is_key(told: str) -> bool:
    """Return true if it is short and plain enough for a key."""
    return told.isascii() and len(told) <= MAX_KEY_CHARS
