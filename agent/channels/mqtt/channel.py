"""MQTT channel, and the platform that builds it from the settings."""

import asyncio
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.certificate_authority import trust
from agent.channels.credentials import find_secret
from agent.channels.mqtt import messages
from agent.channels.mqtt.board_mirror import BoardMirror
from agent.channels.mqtt.client import MqttArrival, MqttBroker, MqttConnection, connected
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.home_assistant import HomeAssistantDevice
from agent.channels.mqtt.messages import HOME, MqttTopics
from agent.channels.mqtt.retained import take_back
from agent.channels.mqtt.session import MqttState
from agent.channels.platform import Platform, PlatformContext, SetupKey
from agent.channels.settings import ChannelsSettings, MqttSettings
from agent.config import Secret
from agent.errors import ChannelUnavailable, ConfigRefused
from agent.link.base import Board
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.channels.mqtt.own_mirror import OwnStates
    from agent.channels.mqtt.reading_mirror import NewestReadings
    from agent.channels.received_files import Knows

_log = logging.getLogger(__name__)

# Longer answers come in parts, each of which a small panel can hold
MAX_PART_CHARS = 4000
# An answer waits so long for a connection that is being made
CONNECTED_TIMEOUT_S = 5.0
# Whoever is to have an answer may be just about to subscribe
NOBODY_RETRY_S = 10.0
HINT = "Your answer is read by a program or on a panel: short plain sentences."
# At least once what people write; at most once what moves something
_LETTERS, _COMMANDS = 1, 0


class MqttShown(Struct, frozen=True):
    """Sources of what is shown beside the boards.

    Args:
        newest: of each recorded reading.
        own: state of the device itself; None where nobody knows it.
        knows: says if the sender of a message has access.
    """

    newest: "NewestReadings" = dict
    own: "OwnStates | None" = None
    knows: "Knows" = lambda _message: True


class MqttChannel(Channel):
    """Channel of one device at one broker."""

    name = messages.NAME
    abilities = Abilities(hint=HINT, asks=True, programs=frozenset({HOME}))

    def __init__(
        self,
        settings: MqttSettings,
        broker: MqttBroker,
        folder: Path,
        boards: Sequence[Board],
        clock: Clock,
        shown: MqttShown | None = None,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._settings = settings
        self._broker = broker
        self._boards = boards
        self._clock = clock
        self._topics = MqttTopics(settings.topic)
        self._session = MqttState(folder / "session.json", clock)
        described = DescribedTopics(folder / "described.json")
        self._mirror = BoardMirror(boards, self._topics, settings.every_s, clock, described)
        self._own_described = DescribedTopics(folder / "described-own.json")
        self._readings_described = DescribedTopics(folder / "described-readings.json")
        self._shown = shown or MqttShown()
        self._questions = OpenApprovals()
        self._connection: MqttConnection | None = None
        self._is_connected = asyncio.Event()

    async def listen(self, deliver: Deliver) -> None:
        known = await self._session.client_id()
        try:
            async with (
                connected(self._broker, known, self.pulse.beat) as connection,
                asyncio.TaskGroup() as tasks,
            ):
                topics = self._topics
                await connection.subscribe(
                    [
                        (topics.inbox, _LETTERS),
                        (topics.commands, _COMMANDS),
                        (topics.stop_command, _LETTERS),
                    ]
                )
                self._connection = connection
                if not connection.is_resumed:
                    await self._session.note(self._clock.wall_s())
                self._session.join()
                self._is_connected.set()
                tasks.create_task(self._session.note_while_joined())
                tasks.create_task(self._mirror.run(connection, self._device(known)))
                if self._shown.own is not None:
                    own = self._show_own(self._shown.own, connection, self._device(known))
                    tasks.create_task(own)
                tasks.create_task(self._show_readings(connection, self._device(known)))
                while True:
                    came = await connection.arrival()
                    with self._session.taking(is_late=came.is_late):
                        await self._hear(came, deliver)
                        connection.confirm(came)
        except BaseExceptionGroup as group:
            # The first of them has ended the others
            raise group.exceptions[0] from None
        finally:
            if self._connection is not None:
                self._connection = None
                await self._session.leave()

    async def send(self, message: Outbound) -> None:
        connection = await self._connected()
        known = message.outbox_id or secrets.token_hex(8)
        payload = messages.told_by(message, f"{known}-{message.part}")
        is_heard = await connection.publish(self._topics.answers_for(message.recipient), payload)
        # The home looks at values, not at what is said of them
        if message.recipient == HOME:
            self._mirror.look_again()
        elif not is_heard:
            raise ChannelUnavailable(
                f"nobody subscribes to {self._topics.answers_for(message.recipient)}",
                retry_after_s=NOBODY_RETRY_S,
            )

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render.splitter import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        if address.target == HOME:
            # Programs read and write there, and none of them may agree to anything
            return Answer.NONE
        return await approvals.ask(self._questions, address, question, self.send)

    async def _show_readings(self, connection: MqttConnection, device: HomeAssistantDevice) -> None:
        described = self._readings_described
        if not self._settings.readings:
            await take_back(connection, described)
            return
        from agent.channels.mqtt.reading_mirror import ReadingMirror  # noqa: PLC0415 - where wanted

        every_s = self._settings.every_s
        mirror = ReadingMirror(self._shown.newest, self._topics, every_s, self._clock, described)
        await mirror.run(connection, device)

    async def _show_own(
        self, own: "OwnStates", connection: MqttConnection, device: HomeAssistantDevice
    ) -> None:
        from agent.channels.mqtt.own_mirror import OwnMirror  # noqa: PLC0415 - where it is known

        stop = messages.stop_of(messages.STOP.encode(), "", 0.0)
        assert stop is not None
        may_stop = partial(self._shown.knows, stop)
        every_s, described = self._settings.every_s, self._own_described
        mirror = OwnMirror(own, self._topics, every_s, may_stop, described)
        await mirror.run(connection, device)

    async def _connected(self) -> MqttConnection:
        try:
            async with asyncio.timeout(CONNECTED_TIMEOUT_S):
                while self._connection is None or not self._connection.is_up:
                    self._is_connected.clear()
                    await self._is_connected.wait()
                return self._connection
        except TimeoutError as err:
            raise ChannelUnavailable(f"{self._broker.name} is not connected") from err

    async def _hear(self, came: MqttArrival, deliver: Deliver) -> None:
        if came.is_retained:
            # It was written some time ago, and would come again with every start
            _log.info("mqtt: retained message ignored (topic=%r)", came.topic)
            return
        if came.is_late and self._topics.pin_of(came.topic) is not None:
            # Some brokers keep for an absent device what nobody confirms, too
            _log.info("mqtt: old command ignored (topic=%r)", came.topic[:100])
            return
        inbound = self._stop(came) or self._command(came) or await self._letter(came)
        if inbound is None:
            _log.info("mqtt: message skipped, not readable (topic=%r)", came.topic[:100])
        elif inbound.sender == HOME or not self._questions.answer(inbound):
            await deliver(inbound)

    def _stop(self, came: MqttArrival) -> Inbound | None:
        if came.topic != self._topics.stop_command:
            return None
        return messages.stop_of(came.payload, secrets.token_hex(8), self._clock.wall_s())

    def _command(self, came: MqttArrival) -> Inbound | None:
        place = self._topics.pin_of(came.topic)
        board = next((one for one in self._boards if place and one.name == place[0]), None)
        if place is None or board is None:
            return None
        is_only = len(self._boards) == 1
        order = messages.order_of(board, place[1], came.payload, is_only=is_only)
        if not order:
            return None
        return messages.command_of(order, *place, secrets.token_hex(8), self._clock.wall_s())

    async def _letter(self, came: MqttArrival) -> Inbound | None:
        sender = self._topics.sender_of(came.topic)
        letter = messages.read(came.payload) if sender else None
        if letter is None:
            return None
        known = f"{sender}:{letter.id}"
        if not letter.id:
            known = await self._session.message_id(
                came.number, came.topic, came.payload, is_again=came.is_again
            )
        inbound = messages.inbound_of(letter, sender, known, self._clock.wall_s())
        if came.is_late and inbound.sent_at_s is None:
            # Nobody knows when: it may be as old as this
            since_s = self._session.waiting_since_s()
            inbound = replace(inbound, sent_at_s=since_s, is_time_sure=False)
        return inbound

    def _device(self, known: str) -> HomeAssistantDevice:
        wanted = self._settings
        return HomeAssistantDevice(known, wanted.topic, wanted.home_assistant, wanted.every_s)


# Not the device's own name at the broker: that would throw the device out
_CLIENT_ID = "barnacle-probe"
_HERE = frozenset({"127.0.0.1", "::1", "localhost"})


async def probe(broker: MqttBroker) -> str:
    """Return our account at the broker, in a sentence.

    Raises:
        ChannelError: it does not let us in, or is not there.
    """
    # Nobody is told that the device is gone when this is
    async with connected(replace(broker, will=""), _CLIENT_ID, lambda: None):
        who = f"user {broker.user}" if broker.user else "nobody in particular"
        return f"{broker.name} lets us in as {who}, {secured(broker)}"


def secured(broker: MqttBroker) -> str:
    """Return the protection of the connection, in words."""
    if broker.context is not None:
        return "with TLS"
    is_here = broker.host in _HERE or not broker.password
    return "without TLS" if is_here else "without TLS, so that the network can read the password"


_PORT, _TLS_PORT = 1883, 8883


class Mqtt(Platform):
    """Platform of an MQTT broker, which also shows the boards."""

    name = MqttChannel.name
    about = "a broker at which people and programs write, and Home Assistant looks"
    wanted = (
        SetupKey("url", "The broker, such as mqtts://broker.example"),
        SetupKey("user", "Who the agent is there", is_needed=False),
        SetupKey("password", "The password", is_secret=True, is_needed=False),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted = _wanted(channels)
        folder = reach.paths.state_dir / self.name
        broker = broker_of(wanted, reach.environ)
        own = reach.own_state() if reach.own_state else None
        shown = MqttShown(reach.newest, own, reach.knows)
        return MqttChannel(wanted, broker, folder, reach.boards, reach.clock, shown)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await probe(broker_of(_wanted(channels), reach.environ))


PLATFORM = Mqtt()


def broker_of(wanted: MqttSettings, environ: Mapping[str, str]) -> MqttBroker:
    """Return the configured broker.

    Raises:
        ConfigRefused: its authority's certificate or the password cannot be read.
    """
    parts = urlsplit(wanted.url)
    is_secured = parts.scheme == "mqtts"
    try:
        port = parts.port or (_TLS_PORT if is_secured else _PORT)
    except ValueError as err:
        raise ConfigRefused("invalid port in channels.mqtt.url: expected 1 to 65535") from err
    context = trust("mqtt", wanted.ca_file, environ) if is_secured else None
    password = _password(wanted, environ)
    will = MqttTopics(wanted.topic).status
    return MqttBroker(parts.hostname or "", port, wanted.user, password, context, will)


def _wanted(channels: ChannelsSettings) -> MqttSettings:
    return channels.mqtt or MqttSettings()


def _password(wanted: MqttSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("mqtt_password", wanted.password, wanted.password_file, environ)
