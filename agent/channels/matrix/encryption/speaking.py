"""Outgoing room keys: one of ours for each room, changed by the room's rules.

Whoever leaves, and every device that goes, makes it change: what is said later is not for them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vodozemac import GroupSession

from agent.channels.matrix.encryption.devices import Device
from agent.channels.matrix.encryption.hearing import MEGOLM, RoomKey, learn
from agent.channels.matrix.encryption.ourselves import Ourselves
from agent.channels.matrix.encryption.vault import Shelf

# What rooms are to have that say nothing of it
USUAL_MESSAGES = 100
USUAL_S = 7 * 24 * 3600.0
# No room may have a key made for each message
SHORTEST_S = 3600.0
# Nor keep one for ever
MOST_MESSAGES = 10_000
LONGEST_S = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for a change of a room's key."""

    messages: int
    after_s: float


def rules_in(content: dict[str, Any]) -> Rules:
    messages = _number(content.get("rotation_period_msgs"), USUAL_MESSAGES)
    after_ms = _number(content.get("rotation_period_ms"), USUAL_S * 1000)
    after_s = min(max(after_ms / 1000, SHORTEST_S), LONGEST_S)
    return Rules(int(min(max(messages, 1), MOST_MESSAGES)), after_s)


def prepare(
    shelf: Shelf, us: Ourselves, room: str, rules: Rules, devices: Iterable[Device], now_s: float
) -> list[Device]:
    """Have a key that only `devices` know; those that do not yet."""
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


def begin_again(shelf: Shelf) -> None:
    """Have other keys from now on: those of an older copy were perhaps used for something else."""
    shelf.db.execute("DELETE FROM spoken")
    shelf.db.execute("DELETE FROM shared")


def room_key(shelf: Shelf, room: str) -> dict[str, object]:
    """The content of the event that gives somebody the key, from now on."""
    session = _session(shelf, room)
    return {
        "algorithm": MEGOLM,
        "room_id": room,
        "session_id": session.session_id,
        "session_key": session.session_key.to_base64(),
    }


def given(shelf: Shelf, room: str, session: object, devices: Iterable[Device]) -> None:
    """They have that key, if it is still the room's."""
    if session != _session(shelf, room).session_id:
        return
    rows = [(room, one.user, one.device, one.curve) for one in devices]
    shelf.db.executemany("INSERT OR REPLACE INTO shared VALUES (?, ?, ?, ?)", rows)


def say(
    shelf: Shelf, us: Ourselves, room: str, kind: str, content: dict[str, object]
) -> dict[str, object]:
    """The content of the encrypted event that says it."""
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


def _session(shelf: Shelf, room: str) -> GroupSession:
    (pickle,) = shelf.db.execute("SELECT pickle FROM spoken WHERE room = ?", (room,)).fetchone()
    return GroupSession.from_pickle(pickle, shelf.key)


def _is_fresh(shelf: Shelf, room: str, rules: Rules, now_s: float) -> bool:
    query = "SELECT begun_s, messages FROM spoken WHERE room = ?"
    row = shelf.db.execute(query, (room,)).fetchone()
    # A clock that was set back makes no key last
    return row is not None and 0 <= now_s - row[0] < rules.after_s and row[1] < rules.messages


def _renew(shelf: Shelf, us: Ourselves, room: str, now_s: float) -> None:
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
