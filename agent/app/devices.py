"""Composition of the other devices: the ways to them, their tools, and what is done for them.

Loaded only where other devices are configured.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
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
from agent.devices.wire import LEAST_KEY_CHARS, DeviceSeal, UnreadableMessage
from agent.errors import ChannelUnavailable, ConfigRefused, LinkLost
from agent.gateway.assistants.mcp.hand import HandResult, LentHand
from agent.gateway.settings import OtherDeviceSettings
from agent.link.base import Board
from agent.schedule.trust import is_trusted
from agent.settings import Paths, Settings
from agent.system.clock import Clock, SystemClock
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
        self._ways = DeviceWays(settings, environ, self._heard)
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
            self._ways.broker(f"barnacle-device-{self._wanted.name}"),
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

        caller = DeviceCaller(seal, self._ways.post(name), self._ledger, self._clock, changed)
        named = {pin.rpartition(":")[2] for pin in wanted.pins}
        self._tools[name] = DeviceTools(caller, named)
        return OtherDevice(seal, caller)

    def _heard(self, name: str, payload: bytes) -> None:
        # What comes back by a connection of ours is answers; there is nothing to answer
        if self._channel is not None:
            self._channel.heard(name, payload, _drop)


class DeviceWays:
    """Ways to the other devices: a connection to each, or the broker of the house.

    Args:
        heard: takes what comes back by a connection, with the device's name.
    """

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], heard: Callable[[str, bytes], None]
    ) -> None:
        assert settings.devices is not None
        self._own = settings.devices
        self._mqtt = settings.channels.mqtt
        self._environ = environ
        self._heard = heard
        self._posts: dict[str, BrokerPost] = {}

    def post(self, name: str) -> Post:
        """Return the way to one of them.

        Raises:
            ConfigRefused: there is none.
        """
        own = self._own
        if place := _place(own.others[name].address):
            return DirectPost(own.name, *place, partial(self._heard, name))
        if not self.leads_to(name) and not own.listen:
            raise ConfigRefused(
                f"devices.others.{name} has no way: set its address, or configure the broker in "
                "[channels.mqtt]"
            )
        return self._posts.setdefault(name, BrokerPost(f"{own.topic}/{name}/{own.name}"))

    def leads_to(self, name: str) -> bool:
        """Return true if it can be asked; false where it only comes by itself."""
        return bool(self._own.others[name].address) or self._mqtt is not None

    def broker(self, known: str) -> BrokerWay | None:
        """Return the way by the broker, where one of them needs it.

        Args:
            known: name of the connection there; a second one with it ends the first.
        """
        if not self._posts or self._mqtt is None:
            return None
        from agent.channels.mqtt.channel import broker_of  # noqa: PLC0415 - where it is wanted
        from agent.channels.mqtt.client import connected  # noqa: PLC0415 - as above

        # Nobody is told by a will that the device is gone: the channel's own connection does
        broker = replace(broker_of(self._mqtt, self._environ), will="")

        def connect() -> AbstractAsyncContextManager[BrokerConnection]:
            return connected(broker, known, lambda: None)

        return BrokerWay(connect, self._own.topic, self._own.name, self._posts)


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


async def probe(settings: Settings, paths: Paths, environ: Mapping[str, str]) -> str:
    """Return how the other devices are, in a sentence each.

    Raises:
        ConfigRefused: a key is missing or shared, or there is no way to one of them.
        ChannelError: the broker or one of them does not answer now.
    """
    assert settings.devices is not None
    wanted, clock = settings.devices, SystemClock()
    people = PeopleStore(paths.state_dir / "people.json", clock)
    visit = _Visit(settings, paths, environ, clock)
    try:
        async with visit.reached():
            told = await asyncio.gather(*map(visit.greeted, wanted.others))
    finally:
        await visit.aclose()
    strangers = [name for name in wanted.others if people.find(NAME, name) is None]
    more = [f"{name} may ask nothing here: `barnacle pair --device {name}`" for name in strangers]
    if not is_trusted(clock.wall_s()):
        more.append("this clock is not set: what is kept of acts may be forgotten too early")
    return "; ".join([*told, *more])


class _Visit:
    """Looks once for the other devices, beside an agent that may be at work; answers nobody."""

    def __init__(
        self, settings: Settings, paths: Paths, environ: Mapping[str, str], clock: Clock
    ) -> None:
        assert settings.devices is not None
        self._wanted = settings.devices
        keys = {name: key_of(name, one, environ) for name, one in self._wanted.others.items()}
        _check_keys(keys)
        self._ways = DeviceWays(settings, environ, self._heard)
        self._ledger = DeviceLedger(paths.devices_db, clock)
        self._others: dict[str, OtherDevice] = {}
        for name, key in keys.items():
            seal = DeviceSeal(self._wanted.name, name, key)
            caller = DeviceCaller(seal, self._ways.post(name), self._ledger, clock)
            self._others[name] = OtherDevice(seal, caller)

    @asynccontextmanager
    async def reached(self) -> AsyncIterator[None]:
        """Connect to the broker, where one is needed, for the length of the block."""
        # Not the agent's own name there: that would throw it out
        broker = self._ways.broker(f"barnacle-visit-{self._wanted.name}")
        if broker is None:
            yield
            return
        async with broker.connected() as connection:
            hearing = asyncio.create_task(self._hear(connection))
            try:
                yield
            finally:
                hearing.cancel()
                await asyncio.wait([hearing])

    async def greeted(self, name: str) -> str:
        """Return a sentence about one that answers.

        Raises:
            ChannelUnavailable: it does not.
        """
        if not self._ways.leads_to(name):
            return f"{name} comes by itself"
        begun_s = time.perf_counter()
        try:
            known = await self._others[name].caller.greet()
        except LinkLost as err:
            address = self._wanted.others[name].address
            raise ChannelUnavailable(
                f"{name} does not answer {f'at {address}' if address else 'by the broker'}: is it "
                "on, does it name this device in devices.others, and is the key the same on both?"
            ) from err
        took_ms = (time.perf_counter() - begun_s) * 1000
        pins = [pin.name for board in known.boards for pin in board.manifest.pins]
        lent = f"lends {', '.join(pins)}" if pins else "lends no pins"
        return f"{name} answers within {took_ms:.0f} ms and {lent}"

    async def aclose(self) -> None:
        for other in self._others.values():
            other.caller.hang_up()
        await self._ledger.aclose()

    async def _hear(self, connection: BrokerConnection) -> None:
        while True:
            came = await connection.arrival()
            self._heard(came.topic.rpartition("/")[2], came.payload)

    def _heard(self, name: str, payload: bytes) -> None:
        """Take a reply; what others ask is for the agent at work, which hears it too."""
        if (other := self._others.get(name)) is None:
            return
        with suppress(UnreadableMessage):
            message = other.seal.opened(payload)
            if message.reply is not None:
                other.caller.heard(message.reply)


def _check_keys(keys: Mapping[str, Secret]) -> None:
    of_key: dict[str, str] = {}
    for name, key in keys.items():
        if (other := of_key.setdefault(key.reveal(), name)) != name:
            raise ConfigRefused(
                f"devices.others.{other} and {name} have the same key, so that each can pretend to "
                "be the other: make one key for each two devices with `openssl rand -hex 32`"
            )


def _loan(wanted: OtherDeviceSettings) -> Loan:
    return Loan(frozenset(wanted.lend), wanted.readings)


def _place(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host else None


async def _drop(_payload: bytes) -> None:
    """Send nothing: who wants to ask opens a connection of their own."""
