"""Requests to the server about devices: their list, their keys, and our messages to them.

A device that has no key to begin with is left alone for a while: it gets what is said later.
"""

import secrets
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from agent.channels.matrix.api import MatrixApi
from agent.channels.matrix.encryption import devices, pairs
from agent.channels.matrix.encryption.devices import Device
from agent.channels.matrix.encryption.ourselves import Ourselves
from agent.channels.matrix.encryption.vault import Shelf, Vault
from agent.clock import Clock

# What the server waits for servers of others
ASK_OTHERS_MS = 8000
# Of one request; each device takes about 3 KB of it
MOST_AT_ONCE = 20
MOST_PEOPLE_AT_ONCE = 100
# A device without keys is asked for one this often
BARREN_S = 600.0
# Devices that are remembered to have none
MAX_BARREN = 1000


class Sharing:
    """The talk with the server about devices."""

    def __init__(self, api: MatrixApi, vault: Vault, clock: Clock) -> None:
        self._api = api
        self._vault = vault
        self._clock = clock
        # Until when
        self._barren: dict[tuple[str, str], float] = {}

    async def ask(self, user: str) -> dict[str, Any]:
        """Return the server's answer about one person's keys."""
        return await self._api.call("POST", "/keys/query", {"device_keys": {user: []}})

    async def fresh(self, users: Iterable[str]) -> None:
        """Know the devices that these people have now."""
        known = tuple(users)
        stale = await self._vault.transact(lambda shelf: devices.track(shelf, known))
        for some in _by(MOST_PEOPLE_AT_ONCE, stale):
            body = {"device_keys": {user: [] for user in some}, "timeout": ASK_OTHERS_MS}
            told = await self._api.call("POST", "/keys/query", body)
            asked = {user: stale[user] for user in some}
            await self._vault.transact(partial(_found, told=told, asked=asked))

    async def fresh_again(self, user: str) -> None:
        await self._vault.transact(lambda shelf: devices.changed(shelf, [user]))
        await self.fresh([user])

    async def begin(self, wanted: Sequence[Device], *, anew: bool = False) -> None:
        """Have something begun with each that can be."""
        now_s = self._clock.monotonic_s()
        self._barren = {one: until for one, until in self._barren.items() if until > now_s}

        def lacking(shelf: Shelf) -> list[Device]:
            return [one for one in wanted if anew or not pairs.has_pair(shelf, one)]

        asked = [
            one
            for one in await self._vault.look(lacking)
            if (one.user, one.device) not in self._barren
        ]
        for some in _by(MOST_PEOPLE_AT_ONCE, asked):
            for one in await self._claim(some):
                self._barren[(one.user, one.device)] = now_s + BARREN_S
        while len(self._barren) > MAX_BARREN:
            self._barren.pop(next(iter(self._barren)))

    async def tell(
        self, us: Ourselves, kind: str, content: dict[str, object], wanted: Sequence[Device]
    ) -> list[Device]:
        """Tell each device alone; those that were told."""
        told: list[Device] = []
        for some in _by(MOST_AT_ONCE, wanted):
            sealed = await self._vault.transact(
                partial(_sealed, us=us, kind=kind, content=content, some=some)
            )
            messages: dict[str, dict[str, object]] = {}
            for one, event in sealed:
                messages.setdefault(one.user, {})[one.device] = event
            if messages:
                path = f"/sendToDevice/m.room.encrypted/barnacle-{secrets.token_hex(8)}"
                await self._api.call("PUT", path, {"messages": messages})
            told += [one for one, _ in sealed]
        return told

    async def _claim(self, some: Sequence[Device]) -> list[Device]:
        """Begin with each; those that have nothing to begin with."""
        wanted: dict[str, dict[str, str]] = {}
        for one in some:
            wanted.setdefault(one.user, {})[one.device] = "signed_curve25519"
        body = {"one_time_keys": wanted, "timeout": ASK_OTHERS_MS}
        told = (await self._api.call("POST", "/keys/claim", body)).get("one_time_keys")
        now_s = self._clock.wall_s()

        def begin(shelf: Shelf) -> list[Device]:
            return [
                one
                for one in some
                if not pairs.begin(shelf, one, _at(told, one.user, one.device), now_s)
            ]

        return await self._vault.transact(begin)


def _found(shelf: Shelf, told: dict[str, Any], asked: dict[str, int]) -> None:
    away = told.get("failures")
    for user, number in asked.items():
        if not (isinstance(away, dict) and user.partition(":")[2] in away):
            devices.found(shelf, user, _at(told, "device_keys", user), number)


def _sealed(
    shelf: Shelf, us: Ourselves, kind: str, content: dict[str, object], some: Sequence[Device]
) -> list[tuple[Device, dict[str, object]]]:
    sealed = [(one, pairs.say(shelf, us, one, kind, content)) for one in some]
    return [(one, event) for one, event in sealed if event is not None]


def _at(told: Any, *names: str) -> Any:
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return told


def _by(most: int, those: Iterable[Any]) -> Iterable[list[Any]]:
    rest = iter(those)
    while some := list(islice(rest, most)):
        yield some
