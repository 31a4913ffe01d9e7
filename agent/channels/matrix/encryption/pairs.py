"""Sessions between two devices: room keys go this way.

Of several beginnings between the same two the one that was heard last is spoken on. What comes in
is believed as far as it can be: it names whom it is for and the keys of who has written it.
"""

import json
from dataclasses import dataclass
from typing import Any

from vodozemac import AnyOlmMessage, Curve25519PublicKey, PreKeyMessage, Session

from agent.channels.matrix.encryption.devices import Device, is_key
from agent.channels.matrix.encryption.encoding import unpadded, unpadded_bytes
from agent.channels.matrix.encryption.ourselves import (
    ALGORITHMS,
    Ourselves,
    account_of,
    device_keys,
    keep,
)
from agent.channels.matrix.encryption.signing import is_signed
from agent.channels.matrix.encryption.vault import Shelf
from agent.channels.matrix.events import Event, is_id

OLM = ALGORITHMS[0]
# Of one device with another; a third beginning is somebody's trouble with a backup
MAX_PAIRS = 5
_BEGINNING = 0


class Unheard(Exception):
    """Message that cannot be read, or is not what it claims.

    Args:
        curve: of the device to begin anew with; empty where that does not help.
    """

    def __init__(self, reason: str, curve: str = "") -> None:
        super().__init__(reason)
        self.curve = curve


@dataclass(frozen=True, slots=True)
class Heard:
    """Message of a device to us alone.

    Args:
        curve, ed: keys of the device; the second one is only what it says.
    """

    kind: str
    content: dict[str, Any]
    sender: str
    curve: str
    ed: str


def hear(shelf: Shelf, us: Ourselves, event: Event, now_s: float) -> Heard:
    """Return the content of an encrypted event to this device.

    Raises:
        Unheard: nothing that can be used.
    """
    curve = event.text("sender_key")
    by_key = event.content.get("ciphertext")
    mine = by_key.get(us.curve) if isinstance(by_key, dict) else None
    if event.text("algorithm") != OLM or not isinstance(mine, dict):
        raise Unheard("it is not for this device")
    kind, body = mine.get("type"), mine.get("body")
    is_named = is_key(curve) and is_id(event.sender)
    # Whatever it is: no set would have it
    if kind not in (0, 1) or not isinstance(body, str) or not is_named:
        raise Unheard("it is in no form that is known")
    try:
        plain = _opened(shelf, curve, int(kind), body, now_s)
        told = json.loads(plain)
    except (ValueError, RecursionError) as err:
        raise Unheard(str(err), curve) from err
    return _checked(us, event.sender, curve, told)


def begin(shelf: Shelf, device: Device, told: object, now_s: float) -> bool:
    """Make a pair with the key that the server gave for the device; False where it is none."""
    for one in told.values() if isinstance(told, dict) else ():
        if not isinstance(one, dict) or not isinstance(one.get("key"), str):
            continue
        if not is_signed(one, device.user, device.device, device.ed):
            continue
        try:
            theirs = Curve25519PublicKey.from_base64(device.curve)
            once = Curve25519PublicKey.from_base64(one["key"])
            account = account_of(shelf)
            session = account.create_outbound_session(theirs, once)
        except ValueError:
            continue
        _keep(shelf, device.curve, session, now_s)
        return True
    return False


def has_pair(shelf: Shelf, device: Device) -> bool:
    query = "SELECT 1 FROM pairs WHERE curve = ? LIMIT 1"
    return shelf.db.execute(query, (device.curve,)).fetchone() is not None


def say(
    shelf: Shelf, us: Ourselves, device: Device, kind: str, content: dict[str, object]
) -> dict[str, object] | None:
    """The content of an encrypted event for that device; None where nothing was begun with it."""
    query = "SELECT pickle, used_s FROM pairs WHERE curve = ? ORDER BY used_s DESC LIMIT 1"
    row = shelf.db.execute(query, (device.curve,)).fetchone()
    if row is None:
        return None
    session = Session.from_pickle(row[0], shelf.key)
    told = {
        "type": kind,
        "content": content,
        "sender": us.user,
        "keys": {"ed25519": us.ed},
        "recipient": device.user,
        "recipient_keys": {"ed25519": device.ed},
        "sender_device_keys": device_keys(shelf, us),
    }
    number, body = session.encrypt(json.dumps(told).encode()).to_parts()
    _keep(shelf, device.curve, session, row[1])
    sealed = {device.curve: {"type": number, "body": unpadded(body)}}
    return {"algorithm": OLM, "sender_key": us.curve, "ciphertext": sealed}


def _opened(shelf: Shelf, curve: str, kind: int, body: str, now_s: float) -> bytes:
    message = AnyOlmMessage.from_parts(kind, unpadded_bytes(body))
    beginning = message.to_pre_key()
    query = "SELECT pickle FROM pairs WHERE curve = ? ORDER BY used_s DESC"
    for (pickle,) in shelf.db.execute(query, (curve,)).fetchall():
        session = Session.from_pickle(pickle, shelf.key)
        if beginning is not None and not session.session_matches(beginning):
            continue
        try:
            plain = session.decrypt(message)
        except ValueError:
            if beginning is not None:
                raise
            continue
        _keep(shelf, curve, session, now_s)
        return plain
    if beginning is None:
        raise ValueError("nothing was begun with that device")
    return _begun(shelf, curve, beginning, now_s)


def _begun(shelf: Shelf, curve: str, beginning: PreKeyMessage, now_s: float) -> bytes:
    account = account_of(shelf)
    theirs = Curve25519PublicKey.from_base64(curve)
    session, plain = account.create_inbound_session(theirs, beginning)
    keep(shelf, account)
    _keep(shelf, curve, session, now_s)
    return plain


def _keep(shelf: Shelf, curve: str, session: Session, used_s: float) -> None:
    row = (session.session_id, curve, session.pickle(shelf.key), used_s)
    shelf.db.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?)", row)
    shelf.db.execute(
        "DELETE FROM pairs WHERE curve = ? AND session NOT IN "
        "(SELECT session FROM pairs WHERE curve = ? ORDER BY used_s DESC LIMIT ?)",
        (curve, curve, MAX_PAIRS),
    )


def _checked(us: Ourselves, sender: str, curve: str, told: Any) -> Heard:
    whom = told if isinstance(told, dict) else {}
    keys, ours = whom.get("keys"), whom.get("recipient_keys")
    ed = keys.get("ed25519") if isinstance(keys, dict) else None
    is_ours = isinstance(ours, dict) and ours.get("ed25519") == us.ed
    kind, content = whom.get("type"), whom.get("content")
    if whom.get("sender") != sender or whom.get("recipient") != us.user or not is_ours:
        raise Unheard("it was written by or for somebody else")
    if not (isinstance(ed, str) and isinstance(kind, str) and isinstance(content, dict)):
        raise Unheard("it is in no form that is known")
    if not is_key(ed):
        raise Unheard("its key is none")
    return Heard(kind, content, sender, curve, ed)
