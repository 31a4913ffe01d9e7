"""Incoming room keys, and messages of rooms opened with them.

A key belongs to who sent it and to one room. A message that the server shows a second time as
another event is refused, and so is one whose device is not one of its sender's.
"""

import json
import logging
from dataclasses import dataclass
from typing import Any

from vodozemac import InboundGroupSession, MegolmMessage, SessionKey

from agent.channels.matrix.encryption.devices import device_with
from agent.channels.matrix.encryption.ourselves import ALGORITHMS
from agent.channels.matrix.encryption.pairs import Heard
from agent.channels.matrix.encryption.vault import Shelf
from agent.channels.matrix.events import Event, is_id

_log = logging.getLogger(__name__)

MEGOLM = ALGORITHMS[1]
# Of all rooms: years of a household, weeks of a company
MAX_SESSIONS = 5000


class Unread(Exception):
    """A message that cannot be opened."""


class KeyMissing(Unread):
    """Its key has not come, which it still may."""


class SenderUnknown(Unread):
    """The device that it comes from is not known as its sender's, which may be asked for."""


@dataclass(frozen=True, slots=True)
class RoomKey:
    """Key for the messages of one device in one room.

    Args:
        key: as the library writes it.
    """

    room: str
    key: str
    sender: str
    curve: str
    ed: str


def room_key_in(heard: Heard) -> RoomKey | None:
    """None where it is something else."""
    told = heard.content
    room, key = told.get("room_id"), told.get("session_key")
    if heard.kind != "m.room_key" or told.get("algorithm") != MEGOLM:
        return None
    if not (isinstance(room, str) and is_id(room) and isinstance(key, str)):
        return None
    return RoomKey(room, key, heard.sender, heard.curve, heard.ed)


def learn(shelf: Shelf, told: RoomKey, now_s: float) -> bool:
    """Keep a key; False where it is none or no better than the one that is there."""
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


def read(shelf: Shelf, room: str, event: Event) -> dict[str, Any]:
    """Return the content of an encrypted event: its `type` and `content`.

    Raises:
        Unread: it does not say anything to us.
    """
    session_id, sealed = event.text("session_id"), event.text("ciphertext")
    # Half a character would get into no database
    if event.text("algorithm") != MEGOLM or not session_id.isascii():
        raise Unread("its encryption is not known")
    row = shelf.db.execute(
        "SELECT sender, curve, ed, pickle FROM heard WHERE room = ? AND session = ?",
        (room, session_id),
    ).fetchone()
    if row is None:
        raise KeyMissing("its key has not come")
    sender, curve, ed, pickle = row
    if sender != event.sender:
        raise Unread("its key is somebody else's")
    _check_device(shelf, sender, curve, ed)
    session = InboundGroupSession.from_pickle(pickle, shelf.key)
    try:
        message = MegolmMessage.from_base64(sealed)
        if message.message_index() < session.first_known_index:
            raise KeyMissing("its key is for what was said later")
        opened = session.decrypt(message)
        told = json.loads(opened.plaintext)
    except (ValueError, RecursionError) as err:
        raise Unread(str(err)) from err
    if not isinstance(told, dict) or told.get("room_id") != room:
        raise Unread("it was written for another room")
    _check_once(shelf, (room, session_id, opened.message_index), event.event_id)
    return told


def _check_device(shelf: Shelf, sender: str, curve: str, ed: str) -> None:
    device = device_with(shelf, sender, curve)
    if device is None:
        raise SenderUnknown("it comes from a device that is not known")
    if device.ed != ed:
        raise Unread("its device says that it is another one")


def _check_once(shelf: Shelf, number: tuple[str, str, int], event_id: str) -> None:
    values = (*number, event_id)
    shelf.db.execute("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)", values)
    (first,) = shelf.db.execute(
        "SELECT event FROM messages WHERE room = ? AND session = ? AND number = ?", number
    ).fetchone()
    if first != event_id:
        raise Unread("it was said before, as another event")


def _let_go(shelf: Shelf) -> None:
    """Of the oldest keys, what no room needs any more."""
    shelf.db.execute(
        "DELETE FROM heard WHERE rowid IN "
        "(SELECT rowid FROM heard ORDER BY kept_s DESC, rowid DESC LIMIT -1 OFFSET ?)",
        (MAX_SESSIONS,),
    )
    if shelf.db.execute("SELECT changes()").fetchone()[0]:
        _log.info("old keys of encrypted rooms are let go")
        shelf.db.execute(
            "DELETE FROM messages WHERE NOT EXISTS (SELECT 1 FROM heard "
            "WHERE heard.room = messages.room AND heard.session = messages.session)"
        )
