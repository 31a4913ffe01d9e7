"""Encrypted rooms: decryption, encryption, and the keys for both.

Everything that a sync brings of keys is durable before its token moves. Whoever sends is checked
against the keys of their device; what cannot be read yet waits.
"""

import asyncio
import json
import logging
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agent.channels.matrix.client import MatrixApi, MatrixRefused, quoted
from agent.channels.matrix.encryption import devices, olm, room_keys
from agent.channels.matrix.encryption.olm import DeviceRequests
from agent.channels.matrix.encryption.own_device import (
    FEWEST_KEYS,
    OwnDevice,
    device_keys,
    more_keys,
    ourselves,
    prove,
    shown,
)
from agent.channels.matrix.encryption.room_keys import (
    MEGOLM,
    DecryptError,
    RoomKeyRules,
    SenderDeviceUnknown,
    learn,
    read,
    room_key_in,
    rules_in,
)
from agent.channels.matrix.encryption.vault import KeyVault, KeyVaultSession
from agent.channels.matrix.events import MatrixEvent, MatrixSync, events_in, is_id
from agent.errors import ChannelUnavailable, MessageRefused
from agent.system.clock import Clock

# The oldest go first
MAX_WAITING = 500
# Keys that have not come by then do not
LONGEST_S = 7 * 24 * 3600.0


class WaitingEvent(Struct, frozen=True):
    """Message that cannot be decrypted yet."""

    room: str
    event: MatrixEvent
    since_s: float


def hold(shelf: KeyVaultSession, one: WaitingEvent) -> None:
    told = msgspec.json.encode(one.event).decode()
    values = (one.event.event_id, one.room, told, one.since_s)
    shelf.db.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?)", values)
    shelf.db.execute(
        "DELETE FROM waiting WHERE since_s < ? OR rowid IN "
        "(SELECT rowid FROM waiting ORDER BY rowid DESC LIMIT -1 OFFSET ?)",
        (one.since_s - LONGEST_S, MAX_WAITING),
    )


def held(shelf: KeyVaultSession) -> list[WaitingEvent]:
    """Return the waiting messages in the order of their arrival."""
    rows = shelf.db.execute("SELECT room, told, since_s FROM waiting ORDER BY rowid").fetchall()
    return [
        WaitingEvent(room, msgspec.json.decode(told, type=MatrixEvent), since_s)
        for room, told, since_s in rows
    ]


def release(shelf: KeyVaultSession, event_id: str) -> None:
    shelf.db.execute("DELETE FROM waiting WHERE event = ?", (event_id,))


_log = logging.getLogger(__name__)

_NOT_FOUND = 404
_KEY_KIND = "signed_curve25519"
# With one device; each costs it a key
ANEW_EVERY_S = 3600.0
MAX_ANEW = 1000


class _Came(Struct, frozen=True):
    """Content of a sync.

    Args:
        unheard: sender and key of those with whom it is to be begun anew.
    """

    has_keys: bool
    unheard: list[tuple[str, str]]


class MatrixEncryption:
    """Encrypted rooms of one login."""

    def __init__(self, api: MatrixApi, folder: Path, clock: Clock) -> None:
        self._api = api
        self._vault = KeyVault(folder)
        self._clock = clock
        self._sharing = DeviceRequests(api, self._vault, clock)
        self._us: OwnDevice | None = None
        self._introducing = asyncio.Lock()
        # One after another: a key is given before it is used
        self._speaking = asyncio.Lock()
        self._rules: dict[str, RoomKeyRules | None] = {}
        # When it was begun anew with a device
        self._anew: dict[str, float] = {}
        self.is_foreign = False

    async def introduce(self, user: str, device: str) -> None:
        """Publish this device's keys; `is_foreign` if another program made the login.

        Raises:
            ChannelError: not now.
        """
        async with self._introducing:
            if self._us is not None and (self._us.user, self._us.device) == (user, device):
                return
            us = await self._vault.transact(partial(_began, user=user, device=device))
            told = await self._sharing.ask(user)
            known = _keys_at(told, user, device)
            keys = await self._vault.look(lambda shelf: device_keys(shelf, us))
            self.is_foreign = not device or (known is not None and known != keys["keys"])
            if self.is_foreign:
                if await self._api.start_over():
                    raise ChannelUnavailable(
                        "the keys of the Matrix login are lost; logging in again"
                    )
                _log.warning(
                    "matrix: login holds keys of another program; encrypted rooms cannot be used"
                )
                return
            if known is None:
                await self._show(us, 0, has_fallback=False, device=keys)
            await prove(self._api, self._vault, us, told)
            self._us = us

    async def learn(self, sync: MatrixSync) -> bool:
        """Store keys and devices of a sync; return true if waiting messages may be readable."""
        us = self._us
        if us is None:
            return False
        came = await self._vault.transact(partial(_keep, us=us, sync=sync, now_s=self._now_s()))
        left = sync.device_one_time_keys_count.get(_KEY_KIND, 0)
        unused = sync.device_unused_fallback_key_types
        has_fallback = unused is None or _KEY_KIND in unused
        if left < FEWEST_KEYS or not has_fallback:
            await self._show(us, left, has_fallback=has_fallback)
        for sender, curve in came.unheard:
            await self._begin_anew(us, sender, curve)
        return came.has_keys

    async def forget_devices(self) -> None:
        """Ask for all devices again: changes were missed."""
        await self._vault.transact(devices.all_changed)

    async def is_encrypted(self, room: str) -> bool:
        """Return true if the room was ever encrypted, whatever the server says later."""
        return await self._rules_of(room) is not None

    def forget_rules(self, room: str) -> None:
        self._rules.pop(room, None)

    async def opened(self, room: str, event: MatrixEvent) -> MatrixEvent:
        """Decrypt an event.

        Raises:
            Unread: it is not to be read, or not yet: KeyMissing.
            ChannelError: not now.
        """

        def decrypted(shelf: KeyVaultSession) -> dict[str, Any]:
            return read(shelf, room, event)

        try:
            told = await self._vault.transact(decrypted)
        except SenderDeviceUnknown:
            await self._sharing.fresh_again(event.sender)
            told = await self._vault.transact(decrypted)
        kind, content = told.get("type"), told.get("content")
        if not isinstance(kind, str) or not isinstance(content, dict):
            raise DecryptError("it is in no form that is known")
        # Whatever the server says of it
        await self._note_encrypted(room)
        about = {key: event.content[key] for key in ("m.relates_to",) if key in event.content}
        return msgspec.structs.replace(event, type=kind, content={**content, **about})

    async def sealed(
        self, room: str, people: Iterable[str], kind: str, content: dict[str, object]
    ) -> dict[str, object]:
        """Encrypt an event for the devices of the room's members.

        Raises:
            ChannelError: not now, or never.
        """
        us, rules = self._us, await self._rules_of(room)
        if us is None or rules is None:
            raise MessageRefused("cannot write into that encrypted room")
        users = tuple(people)
        async with self._speaking:
            await self._sharing.fresh(users)
            now_s = self._now_s()

            def prepare(shelf: KeyVaultSession) -> list[devices.MatrixDevice]:
                there = [one for one in devices.devices_of(shelf, users) if one.curve != us.curve]
                return room_keys.prepare(shelf, us, room, rules, there, now_s)

            if without := await self._vault.transact(prepare):
                await self._give(us, room, without)
            return await self._vault.transact(
                lambda shelf: room_keys.say(shelf, us, room, kind, content)
            )

    async def hold(self, room: str, event: MatrixEvent) -> None:
        one = WaitingEvent(room, event, self._now_s())
        await self._vault.transact(lambda shelf: hold(shelf, one))

    async def held(self) -> list[WaitingEvent]:
        return await self._vault.look(held)

    async def release(self, event_id: str) -> None:
        await self._vault.transact(lambda shelf: release(shelf, event_id))

    async def aclose(self) -> None:
        await self._vault.aclose()

    def _now_s(self) -> float:
        return self._clock.wall_s()

    async def _show(
        self, us: OwnDevice, left: int, *, has_fallback: bool, device: object = None
    ) -> None:
        body = await self._vault.transact(
            lambda shelf: more_keys(shelf, us, left, has_fallback=has_fallback)
        )
        if device is not None:
            body["device_keys"] = device
        if not body:
            return
        try:
            await self._api.call("POST", "/keys/upload", body)
        except MatrixRefused as err:
            # It has others under these names: the next ones have other names
            _log.warning("matrix: room keys not delivered (reason=%s)", err)
        await self._vault.transact(shown)

    async def _give(self, us: OwnDevice, room: str, without: list[devices.MatrixDevice]) -> None:
        await self._sharing.begin(without)
        key = await self._vault.look(lambda shelf: room_keys.room_key(shelf, room))
        told = await self._sharing.tell(us, "m.room_key", key, without)
        if len(told) < len(without):
            _log.info("matrix: devices without one-time keys (count=%d)", len(without) - len(told))
        await self._vault.transact(
            lambda shelf: room_keys.given(shelf, room, key["session_id"], told)
        )

    async def _begin_anew(self, us: OwnDevice, sender: str, curve: str) -> None:
        """Start a new session with a device whose messages cannot be read."""
        now_s = self._clock.monotonic_s()
        if now_s - self._anew.get(curve, -ANEW_EVERY_S) < ANEW_EVERY_S:
            return
        await self._sharing.fresh([sender])
        device = await self._vault.look(lambda shelf: devices.device_with(shelf, sender, curve))
        if device is None:
            return
        self._anew[curve] = now_s
        if len(self._anew) > MAX_ANEW:
            self._anew.pop(next(iter(self._anew)))
        await self._sharing.begin([device], anew=True)
        await self._sharing.tell(us, "m.dummy", {}, [device])

    async def _rules_of(self, room: str) -> RoomKeyRules | None:
        if room not in self._rules:
            self._rules[room] = await self._ask_rules(room)
        return self._rules[room]

    async def _note_encrypted(self, room: str) -> None:
        if room in self._rules and self._rules[room] is None:
            usual = json.dumps({"algorithm": MEGOLM})
            await self._vault.transact(lambda shelf: _keep_rules(shelf, room, usual))
            self.forget_rules(room)

    async def _ask_rules(self, room: str) -> RoomKeyRules | None:
        try:
            told = await self._api.call("GET", f"/rooms/{quoted(room)}/state/m.room.encryption")
        except MatrixRefused as err:
            if err.status != _NOT_FOUND:
                raise
            kept = await self._vault.look(lambda shelf: _kept_rules(shelf, room))
            return rules_in(json.loads(kept)) if kept else None
        if told.get("algorithm") != MEGOLM:
            raise MessageRefused("unknown encryption of that room")
        await self._vault.transact(lambda shelf: _keep_rules(shelf, room, json.dumps(told)))
        return rules_in(told)


def _began(shelf: KeyVaultSession, user: str, device: str) -> OwnDevice:
    us = ourselves(shelf, user, device)
    room_keys.begin_again(shelf)
    return us


def _keep(shelf: KeyVaultSession, us: OwnDevice, sync: MatrixSync, now_s: float) -> _Came:
    has_keys, unheard = False, []
    for event in events_in(sync.to_device.events):
        if event.type != "m.room.encrypted":
            continue
        try:
            heard = olm.hear(shelf, us, event, now_s)
        except olm.OlmDecryptError as err:
            _log.info("matrix: room key not readable (reason=%s)", err)
            if err.curve:
                unheard.append((event.sender, err.curve))
            continue
        key = room_key_in(heard)
        if key is not None and learn(shelf, key, now_s):
            has_keys = True
    changed = [one for one in sync.device_lists.changed if isinstance(one, str) and is_id(one)]
    devices.changed(shelf, changed)
    return _Came(has_keys, unheard)


def _keys_at(told: dict[str, Any], user: str, device: str) -> object:
    by_user = told.get("device_keys")
    by_device = by_user.get(user) if isinstance(by_user, dict) else None
    one = by_device.get(device) if isinstance(by_device, dict) else None
    return one.get("keys") if isinstance(one, dict) else None


def _kept_rules(shelf: KeyVaultSession, room: str) -> str:
    row = shelf.db.execute("SELECT rules FROM rooms WHERE room = ?", (room,)).fetchone()
    return "" if row is None else str(row[0])


def _keep_rules(shelf: KeyVaultSession, room: str, rules: str) -> None:
    shelf.db.execute("INSERT OR REPLACE INTO rooms VALUES (?, ?)", (room, rules))
