"""Composition of the other devices: the ways to them, their tools, and what is done for them.

Loaded only where other devices are configured.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec
from msgspec.structs import replace

from agent.access.owner import Tell
from agent.access.people import PeopleStore
from agent.channels.credentials import find_secret
from agent.config import Secret
from agent.devices.caller import DeviceCaller, Post
from agent.devices.channel import (
    BrokerConnection,
    BrokerPost,
    BrokerWay,
    DevicesChannel,
    DirectPost,
    OtherDevice,
)
from agent.devices.host import NAME, DeviceHost, Loan, UseLent
from agent.devices.ledger import DeviceLedger
from agent.devices.tools import DeviceTools
from agent.devices.wire import LEAST_KEY_CHARS, DeviceSeal
from agent.errors import ConfigRefused
from agent.gateway.assistants.mcp.hand import HandResult, LentHand
from agent.gateway.settings import OtherDeviceSettings
from agent.link.base import Board
from agent.settings import Paths, Settings
from agent.system.clock import Clock
from agent.tools.base import AnyTool


class HouseDevices:
    """Other devices of one agent; the callers of a channel that is not there yet reach nobody.

    Raises:
        ConfigRefused: a key is missing, or there is no way to one of them.
    """

    def __init__(
        self, settings: Settings, paths: Paths, environ: Mapping[str, str], clock: Clock
    ) -> None:
        assert settings.devices is not None
        self._settings = settings
        self._wanted = settings.devices
        self._environ = environ
        self._clock = clock
        self._ledger = DeviceLedger(paths.devices_db, clock)
        self._posts: dict[str, BrokerPost] = {}
        self._tools: dict[str, DeviceTools] = {}
        self._channel: DevicesChannel | None = None
        self.keys = {name: key_of(name, one, environ) for name, one in self._wanted.others.items()}
        self._others = {name: self._other(name, one) for name, one in self._wanted.others.items()}

    def tools(self) -> tuple[AnyTool, ...]:
        """Return the tools of every other device."""
        return tuple(tool for one in self._tools.values() for tool in one.tools())

    def open(self, boards: Sequence[Board], people: PeopleStore, tell: Tell) -> DevicesChannel:
        """Return the channel by which they ask and are asked."""
        host = DeviceHost(
            {name: _loan(one) for name, one in self._wanted.others.items()},
            boards,
            self._ledger,
            self._use,
            partial(people.find, NAME),
            self._clock,
        )
        self._channel = DevicesChannel(
            self._others,
            host,
            self._clock,
            tell,
            self._way(),
            _place(self._wanted.listen),
        )
        return self._channel

    async def aclose(self) -> None:
        """Close the ledger."""
        await self._ledger.aclose()

    async def _use(self, wanted: UseLent) -> HandResult | None:
        if self._channel is None:
            return None
        hand = LentHand(self._channel, self._clock, NAME)
        arguments = msgspec.json.decode(wanted.arguments, type=dict[str, object])
        return await hand.call(wanted.caller, wanted.tool, arguments, is_relayed=wanted.is_relayed)

    def _other(self, name: str, wanted: OtherDeviceSettings) -> OtherDevice:
        seal = DeviceSeal(self._wanted.name, name, self.keys[name])

        def changed() -> None:
            self._tools[name].follow()

        caller = DeviceCaller(seal, self._post(name, wanted), self._ledger, self._clock, changed)
        named = {pin.rpartition(":")[2] for pin in wanted.pins}
        self._tools[name] = DeviceTools(caller, named)
        return OtherDevice(seal, caller)

    def _post(self, name: str, wanted: OtherDeviceSettings) -> Post:
        if place := _place(wanted.address):
            return DirectPost(self._wanted.name, *place, partial(self._heard, name))
        if self._settings.channels.mqtt is None and not self._wanted.listen:
            raise ConfigRefused(
                f"devices.others.{name} has no way: set its address, or configure the broker in "
                "[channels.mqtt]"
            )
        own = self._wanted
        return self._posts.setdefault(name, BrokerPost(f"{own.topic}/{name}/{own.name}"))

    def _heard(self, name: str, payload: bytes) -> None:
        # What comes back by a connection of ours is answers; there is nothing to answer
        if self._channel is not None:
            self._channel.heard(name, payload, _drop)

    def _way(self) -> BrokerWay | None:
        if not self._posts or self._settings.channels.mqtt is None:
            return None
        from agent.channels.mqtt.channel import broker_of  # noqa: PLC0415 - where it is wanted
        from agent.channels.mqtt.client import connected  # noqa: PLC0415 - as above

        # Nobody is told by a will that the device is gone: the channel's own connection does
        broker = replace(broker_of(self._settings.channels.mqtt, self._environ), will="")
        known = f"barnacle-device-{self._wanted.name}"

        def connect() -> AbstractAsyncContextManager[BrokerConnection]:
            return connected(broker, known, lambda: None)

        return BrokerWay(connect, self._wanted.topic, self._wanted.name, self._posts)


def key_of(name: str, wanted: OtherDeviceSettings, environ: Mapping[str, str]) -> Secret:
    """Return the key of another device.

    Raises:
        ConfigRefused: there is none, or it could be guessed.
    """
    key = find_secret(f"device_{name}_key", wanted.key, wanted.key_file, environ)
    if len(key.reveal()) < LEAST_KEY_CHARS:
        raise ConfigRefused(
            f"devices.others.{name} needs a key of {LEAST_KEY_CHARS} characters or more, the same "
            "on both devices: put the output of `openssl rand -hex 32` into key_file"
        )
    return key


def _loan(wanted: OtherDeviceSettings) -> Loan:
    return Loan(frozenset(wanted.lend), wanted.readings)


def _place(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host else None


async def _drop(_payload: bytes) -> None:
    """Send nothing: who wants to ask opens a connection of their own."""
