"""Outgoing room keys: one for each room, replaced by the room's rules.

Whoever leaves, and every device that goes, makes it change: what is said later is not for them.
"""

import json
import logging
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from vodozemac import GroupSession, InboundGroupSession, MegolmMessage, SessionKey

from agent.channels.matrix.encryption.devices import MatrixDevice, device_with
from agent.channels.matrix.encryption.olm import OlmMessage
from agent.channels.matrix.encryption.own_device import ALGORITHMS, OwnDevice
from agent.channels.matrix.encryption.vault import KeyVaultSession
from agent.channels.matrix.events import MatrixEvent, is_id

_log = logging.getLogger(__name__)

MEGOLM = ALGORITHMS[1]
# Of all rooms: years of a household, weeks of a company
MAX_SESSIONS = 5000


class DecryptError(Exception):
    """A message that cannot be opened."""


class RoomKeyMissing(DecryptError):
    """The key has not come, but still may."""


class SenderDeviceUnknown(DecryptError):
    """The sender's device is not known, but may be asked for."""


class RoomKey(Struct, frozen=True):
    """Key for the messages of one device in one room.

    Args:
        key: as the library writes it.
    """

    room: str
    key: str
    sender: str
    curve: str
    ed: str


def room_key_in(heard: OlmMessage) -> RoomKey | None:
    """Return the room key in an event; None if it holds none."""
    told = heard.content
    room, key = told.get("room_id"), told.get("session_key")
    if heard.kind != "m.room_key" or told.get("algorithm") != MEGOLM:
        return None
    if not (isinstance(room, str) and is_id(room) and isinstance(key, str)):
        return None
    return RoomKey(room, key, heard.sender, heard.curve, heard.ed)


def learn(shelf: KeyVaultSession, told: RoomKey, now_s: float) -> bool:
    """Store a key; return false if it is invalid or no better than the known one."""
    try:
        session = InboundGroupSession(SessionKey(told.key))
    except ValueError:
        return False
    where = (told.room, session.session_id)
    row = shelf.db.execute(
        "SELECT sender, curve, pickle FROM heard WHERE room = ? AND session = ?", where
    ).fetchone()
    if row is not None:
        had = InboundGroupSession.from_pickle(row[2], shelf.key)
        is_theirs = (row[0], row[1]) == (told.sender, told.curve)
        if not is_theirs or had.first_known_index <= session.first_known_index:
            return False
    pickle = session.pickle(shelf.key)
    values = (*where, told.sender, told.curve, told.ed, pickle, now_s)
    shelf.db.execute("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    _let_go(shelf)
    return True


def read(shelf: KeyVaultSession, room: str, event: MatrixEvent) -> dict[str, Any]:
    """Return the content of an encrypted event: its `type` and `content`.

    Raises:
        Unread: it does not say anything to us.
    """
    session_id, sealed = event.text("session_id"), event.text("ciphertext")
    # Half a character would get into no database
    if event.text("algorithm") != MEGOLM or not session_id.isascii():
        raise DecryptError("its encryption is not known")
    row = shelf.db.execute(
        "SELECT sender, curve, ed, pickle FROM heard WHERE room = ? AND session = ?",
        (room, session_id),
    ).fetchone()
    if row is None:
        raise RoomKeyMissing("its key has not come")
    sender, curve, ed, pickle = row
    if sender != event.sender:
        raise DecryptError("its key is somebody else's")
    _check_device(shelf, sender, curve, ed)
    session = InboundGroupSession.from_pickle(pickle, shelf.key)
    try:
        message = MegolmMessage.from_base64(sealed)
        if message.message_index() < session.first_known_index:
            raise RoomKeyMissing("its key is for what was said later")
        opened = session.decrypt(message)
        told = json.loads(opened.plaintext)
    except (ValueError, RecursionError) as err:
        raise DecryptError(str(err)) from err
    if not isinstance(told, dict) or told.get("room_id") != room:
        raise DecryptError("it was written for another room")
    _check_once(shelf, (room, session_id, opened.message_index), event.event_id)
    return told


def _check_device(shelf: KeyVaultSession, sender: str, curve: str, ed: str) -> None:
    device = device_with(shelf, sender, curve)
    if device is None:
        raise SenderDeviceUnknown("it comes from a device that is not known")
    if device.ed != ed:
        raise DecryptError("its device says that it is another one")


def _check_once(shelf: KeyVaultSession, number: tuple[str, str, int], event_id: str) -> None:
    values = (*number, event_id)
    shelf.db.execute("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)", values)
    (first,) = shelf.db.execute(
        "SELECT event FROM messages WHERE room = ? AND session = ? AND number = ?", number
    ).fetchone()
    if first != event_id:
        raise DecryptError("it was said before, as another event")


def _let_go(shelf: KeyVaultSession) -> None:
    """Delete old keys that no room needs any more."""
    shelf.db.execute(
        "DELETE FROM heard WHERE rowid IN "
        "(SELECT rowid FROM heard ORDER BY kept_s DESC, rowid DESC LIMIT -1 OFFSET ?)",
        (MAX_SESSIONS,),
    )
    if shelf.db.execute("SELECT changes()").fetchone()[0]:
        _log.info("matrix: old room keys deleted")
        shelf.db.execute(
            "DELETE FROM messages WHERE NOT EXISTS (SELECT 1 FROM heard "
            "WHERE heard.room = messages.room AND heard.session = messages.session)"
        )


# What rooms are to have that say nothing of it
USUAL_MESSAGES = 100
USUAL_S = 7 * 24 * 3600.0
# No room may have a key made for each message
SHORTEST_S = 3600.0
# Nor keep one for ever
MOST_MESSAGES = 10_000
LONGEST_S = 30 * 24 * 3600.0


class RoomKeyRules(Struct, frozen=True):
    """Rules for a change of a room's key."""

    messages: int
    after_s: float


def rules_in(content: dict[str, Any]) -> RoomKeyRules:
    messages = _number(content.get("rotation_period_msgs"), USUAL_MESSAGES)
    after_ms = _number(content.get("rotation_period_ms"), USUAL_S * 1000)
    after_s = min(max(after_ms / 1000, SHORTEST_S), LONGEST_S)
    return RoomKeyRules(int(min(max(messages, 1), MOST_MESSAGES)), after_s)


def prepare(
    shelf: KeyVaultSession,
    us: OwnDevice,
    room: str,
    rules: RoomKeyRules,
    devices: Iterable[MatrixDevice],
    now_s: float,
) -> list[MatrixDevice]:
    """Make sure that only `devices` know the key; return those that lack it."""
    there = {(one.user, one.device): one for one in devices}
    knowing = {
        (user, device): curve
        for user, device, curve in shelf.db.execute(
            "SELECT user, device, curve FROM shared WHERE room = ?", (room,)
        )
    }
    is_ours_alone = all(
        key in there and there[key].curve == curve for key, curve in knowing.items()
    )
    if not is_ours_alone or not _is_fresh(shelf, room, rules, now_s):
        _renew(shelf, us, room, now_s)
        knowing = {}
    return [one for key, one in there.items() if key not in knowing]


def begin_again(shelf: KeyVaultSession) -> None:
    """Replace all keys: a restored copy may have used them for something else."""
    shelf.db.execute("DELETE FROM spoken")
    shelf.db.execute("DELETE FROM shared")


def room_key(shelf: KeyVaultSession, room: str) -> dict[str, object]:
    """Return the event that shares the key from now on."""
    session = _session(shelf, room)
    return {
        "algorithm": MEGOLM,
        "room_id": room,
        "session_id": session.session_id,
        "session_key": session.session_key.to_base64(),
    }


def given(
    shelf: KeyVaultSession, room: str, session: object, devices: Iterable[MatrixDevice]
) -> None:
    """Record that these devices have the key, if it is still the room's."""
    if session != _session(shelf, room).session_id:
        return
    rows = [(room, one.user, one.device, one.curve) for one in devices]
    shelf.db.executemany("INSERT OR REPLACE INTO shared VALUES (?, ?, ?, ?)", rows)


def say(
    shelf: KeyVaultSession, us: OwnDevice, room: str, kind: str, content: dict[str, object]
) -> dict[str, object]:
    """Encrypt an event."""
    session = _session(shelf, room)
    inside = {name: value for name, value in content.items() if name != "m.relates_to"}
    told = json.dumps({"type": kind, "content": inside, "room_id": room}, ensure_ascii=False)
    sealed = session.encrypt(told.encode("utf-8", "replace")).to_base64()
    shelf.db.execute(
        "UPDATE spoken SET pickle = ?, messages = messages + 1 WHERE room = ?",
        (session.pickle(shelf.key), room),
    )
    event: dict[str, object] = {
        "algorithm": MEGOLM,
        "sender_key": us.curve,
        "device_id": us.device,
        "session_id": session.session_id,
        "ciphertext": sealed,
    }
    # The server puts edits and threads together, and has to see what belongs to what
    if "m.relates_to" in content:
        event["m.relates_to"] = content["m.relates_to"]
    return event


def _session(shelf: KeyVaultSession, room: str) -> GroupSession:
    (pickle,) = shelf.db.execute("SELECT pickle FROM spoken WHERE room = ?", (room,)).fetchone()
    return GroupSession.from_pickle(pickle, shelf.key)


def _is_fresh(shelf: KeyVaultSession, room: str, rules: RoomKeyRules, now_s: float) -> bool:
    query = "SELECT begun_s, messages FROM spoken WHERE room = ?"
    row = shelf.db.execute(query, (room,)).fetchone()
    # A clock that was set back makes no key last
    return row is not None and 0 <= now_s - row[0] < rules.after_s and row[1] < rules.messages


def _renew(shelf: KeyVaultSession, us: OwnDevice, room: str, now_s: float) -> None:
    session = GroupSession()
    row = (room, session.session_id, session.pickle(shelf.key), now_s, 0)
    shelf.db.execute("INSERT OR REPLACE INTO spoken VALUES (?, ?, ?, ?, ?)", row)
    shelf.db.execute("DELETE FROM shared WHERE room = ?", (room,))
    # Somebody may answer to what we said
    key = session.session_key.to_base64()
    learn(shelf, RoomKey(room, key, us.user, us.curve, us.ed), now_s)


def _number(told: object, usual: float) -> float:
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    return float(told) if is_number and 0 < told < 2**53 else usual  # type: ignore[operator,arg-type]  # it is a number here
