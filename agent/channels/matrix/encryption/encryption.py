"""Encrypted rooms, whole: what is read in them, what is said, and what it takes.

Everything that a sync brings of keys is durable before its token moves. Whoever sends is checked
against the keys of their device; what cannot be read yet waits.
"""

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from agent.channels.matrix.api import MatrixApi, MatrixRefused, quoted
from agent.channels.matrix.encryption import devices, hearing, pairs, speaking, waiting
from agent.channels.matrix.encryption.hearing import SenderUnknown, Unread
from agent.channels.matrix.encryption.identity import prove
from agent.channels.matrix.encryption.ourselves import (
    FEWEST_KEYS,
    Ourselves,
    device_keys,
    more_keys,
    ourselves,
    shown,
)
from agent.channels.matrix.encryption.sharing import Sharing
from agent.channels.matrix.encryption.speaking import Rules, rules_in
from agent.channels.matrix.encryption.vault import Shelf, Vault
from agent.channels.matrix.events import Event, Sync, events_in, is_id
from agent.clock import Clock
from agent.errors import ChannelUnavailable, MessageRefused

_log = logging.getLogger(__name__)

_NOT_FOUND = 404
_KEY_KIND = "signed_curve25519"
# With one device; each costs it a key
ANEW_EVERY_S = 3600.0
MAX_ANEW = 1000


@dataclass(frozen=True, slots=True)
class _Came:
    """Content of a sync.

    Args:
        unheard: sender and key of those with whom it is to be begun anew.
    """

    has_keys: bool
    unheard: list[tuple[str, str]]


class Encryption:
    """The encrypted rooms of one login."""

    def __init__(self, api: MatrixApi, folder: Path, clock: Clock) -> None:
        self._api = api
        self._vault = Vault(folder)
        self._clock = clock
        self._sharing = Sharing(api, self._vault, clock)
        self._us: Ourselves | None = None
        self._introducing = asyncio.Lock()
        # One after another: a key is given before it is used
        self._speaking = asyncio.Lock()
        self._rules: dict[str, Rules | None] = {}
        # When it was begun anew with a device
        self._anew: dict[str, float] = {}
        self.is_foreign = False

    async def introduce(self, user: str, device: str) -> None:
        """Show the server what others begin with; `is_foreign` where the login is not our own.

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
                        "the keys of the Matrix login are lost: it logs in anew"
                    )
                _log.warning(
                    "the Matrix login has another program's keys: encrypted rooms are shut"
                )
                return
            if known is None:
                await self._show(us, 0, has_fallback=False, device=keys)
            await prove(self._api, self._vault, us, told)
            self._us = us

    async def learn(self, sync: Sync) -> bool:
        """Keep what came of keys and devices; whether something that waits may be read now."""
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
        """Ask again for all: what changed meanwhile was not heard."""
        await self._vault.transact(devices.all_changed)

    async def is_encrypted(self, room: str) -> bool:
        """Once it is, it is for good, whatever the server says later."""
        return await self._rules_of(room) is not None

    def forget_rules(self, room: str) -> None:
        self._rules.pop(room, None)

    async def opened(self, room: str, event: Event) -> Event:
        """The event that is in an encrypted one.

        Raises:
            Unread: it is not to be read, or not yet: KeyMissing.
            ChannelError: not now.
        """

        def read(shelf: Shelf) -> dict[str, Any]:
            return hearing.read(shelf, room, event)

        try:
            told = await self._vault.transact(read)
        except SenderUnknown:
            await self._sharing.fresh_again(event.sender)
            told = await self._vault.transact(read)
        kind, content = told.get("type"), told.get("content")
        if not isinstance(kind, str) or not isinstance(content, dict):
            raise Unread("it is in no form that is known")
        about = {key: event.content[key] for key in ("m.relates_to",) if key in event.content}
        return msgspec.structs.replace(event, type=kind, content={**content, **about})

    async def sealed(
        self, room: str, people: Iterable[str], kind: str, content: dict[str, object]
    ) -> dict[str, object]:
        """The content of an `m.room.encrypted` that says it to the people's devices alone.

        Raises:
            ChannelError: not now, or never.
        """
        us, rules = self._us, await self._rules_of(room)
        if us is None or rules is None:
            raise MessageRefused("nothing can be said in that room: it is encrypted")
        users = tuple(people)
        async with self._speaking:
            await self._sharing.fresh(users)
            now_s = self._now_s()

            def prepare(shelf: Shelf) -> list[devices.Device]:
                there = [one for one in devices.devices_of(shelf, users) if one.curve != us.curve]
                return speaking.prepare(shelf, us, room, rules, there, now_s)

            if without := await self._vault.transact(prepare):
                await self._give(us, room, without)
            return await self._vault.transact(
                lambda shelf: speaking.say(shelf, us, room, kind, content)
            )

    async def hold(self, room: str, event: Event) -> None:
        one = waiting.Waiting(room, event, self._now_s())
        await self._vault.transact(lambda shelf: waiting.hold(shelf, one))

    async def held(self) -> list[waiting.Waiting]:
        return await self._vault.look(waiting.held)

    async def release(self, event_id: str) -> None:
        await self._vault.transact(lambda shelf: waiting.release(shelf, event_id))

    async def aclose(self) -> None:
        await self._vault.aclose()

    def _now_s(self) -> float:
        return self._clock.wall_s()

    async def _show(
        self, us: Ourselves, left: int, *, has_fallback: bool, device: object = None
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
            _log.warning("keys for encrypted rooms were not taken: %s", err)
        await self._vault.transact(shown)

    async def _give(self, us: Ourselves, room: str, without: list[devices.Device]) -> None:
        await self._sharing.begin(without)
        key = await self._vault.look(lambda shelf: speaking.room_key(shelf, room))
        told = await self._sharing.tell(us, "m.room_key", key, without)
        if len(told) < len(without):
            _log.info("%d devices in a room have no keys to begin with", len(without) - len(told))
        await self._vault.transact(
            lambda shelf: speaking.given(shelf, room, key["session_id"], told)
        )

    async def _begin_anew(self, us: Ourselves, sender: str, curve: str) -> None:
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

    async def _rules_of(self, room: str) -> Rules | None:
        if room not in self._rules:
            self._rules[room] = await self._ask_rules(room)
        return self._rules[room]

    async def _ask_rules(self, room: str) -> Rules | None:
        try:
            told = await self._api.call("GET", f"/rooms/{quoted(room)}/state/m.room.encryption")
        except MatrixRefused as err:
            if err.status != _NOT_FOUND:
                raise
            kept = await self._vault.look(lambda shelf: _kept_rules(shelf, room))
            return rules_in(json.loads(kept)) if kept else None
        if told.get("algorithm") != hearing.MEGOLM:
            raise MessageRefused("the encryption of that room is not known here")
        await self._vault.transact(lambda shelf: _keep_rules(shelf, room, json.dumps(told)))
        return rules_in(told)


def _began(shelf: Shelf, user: str, device: str) -> Ourselves:
    us = ourselves(shelf, user, device)
    speaking.begin_again(shelf)
    return us


def _keep(shelf: Shelf, us: Ourselves, sync: Sync, now_s: float) -> _Came:
    has_keys, unheard = False, []
    for event in events_in(sync.to_device.events):
        if event.type != "m.room.encrypted":
            continue
        try:
            heard = pairs.hear(shelf, us, event, now_s)
        except pairs.Unheard as err:
            _log.info("a key for an encrypted room cannot be read: %s", err)
            if err.curve:
                unheard.append((event.sender, err.curve))
            continue
        key = hearing.room_key_in(heard)
        if key is not None and hearing.learn(shelf, key, now_s):
            has_keys = True
    changed = [one for one in sync.device_lists.changed if isinstance(one, str) and is_id(one)]
    devices.changed(shelf, changed)
    return _Came(has_keys, unheard)


def _keys_at(told: dict[str, Any], user: str, device: str) -> object:
    by_user = told.get("device_keys")
    by_device = by_user.get(user) if isinstance(by_user, dict) else None
    one = by_device.get(device) if isinstance(by_device, dict) else None
    return one.get("keys") if isinstance(one, dict) else None


def _kept_rules(shelf: Shelf, room: str) -> str:
    row = shelf.db.execute("SELECT rules FROM rooms WHERE room = ?", (room,)).fetchone()
    return "" if row is None else str(row[0])


def _keep_rules(shelf: Shelf, room: str, rules: str) -> None:
    shelf.db.execute("INSERT OR REPLACE INTO rooms VALUES (?, ?)", (room, rules))
