"""MQTT as a channel: letters to one topic for each writer, answers at another, boards beside them.

A message is confirmed to the broker when it is committed here, so that neither a cut nor a restart
loses one. Who may write at whose topic is the broker's to decide.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from pathlib import Path

from agent.channels import worded
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.mqtt import letters
from agent.channels.mqtt.connection import Broker, Came, Connection, connected
from agent.channels.mqtt.home import Device
from agent.channels.mqtt.mirror import Mirror
from agent.channels.mqtt.session import Session
from agent.channels.mqtt.topics import HOME, Topics
from agent.channels.settings import MqttSettings
from agent.clock import Clock
from agent.errors import ChannelUnavailable
from agent.link.base import Board
from agent.messages import Address, Inbound, Outbound

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


class MqttChannel(Channel):
    """One device at one broker."""

    name = letters.NAME
    abilities = Abilities(hint=HINT, asks=True)

    def __init__(
        self,
        settings: MqttSettings,
        broker: Broker,
        folder: Path,
        boards: Sequence[Board],
        clock: Clock,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._settings = settings
        self._broker = broker
        self._boards = boards
        self._clock = clock
        self._topics = Topics(settings.topic)
        self._session = Session(folder / "session.json")
        self._mirror = Mirror(boards, self._topics, settings.every_s, clock)
        self._questions = OpenQuestions()
        self._connection: Connection | None = None
        self._is_connected = asyncio.Event()

    async def listen(self, deliver: Deliver) -> None:
        known = await self._session.client_id()
        try:
            async with (
                connected(self._broker, known, self.pulse.beat) as connection,
                asyncio.TaskGroup() as tasks,
            ):
                topics = self._topics
                await connection.subscribe([(topics.inbox, _LETTERS), (topics.commands, _COMMANDS)])
                self._connection = connection
                self._is_connected.set()
                tasks.create_task(self._mirror.run(connection, self._device(known)))
                while True:
                    came = await connection.arrival()
                    await self._hear(came, deliver)
                    connection.confirm(came)
        except BaseExceptionGroup as group:
            # The first of them has ended the others
            raise group.exceptions[0] from None
        finally:
            self._connection = None

    async def send(self, message: Outbound) -> None:
        connection = await self._connected()
        known = message.outbox_id or secrets.token_hex(8)
        payload = letters.told_by(message, f"{known}-{message.part}")
        is_heard = await connection.publish(self._topics.answers_for(message.recipient), payload)
        # The home looks at values, not at what is said of them
        if message.recipient == HOME:
            self._mirror.look_again()
        elif not is_heard:
            raise ChannelUnavailable(
                f"nobody has subscribed to {self._topics.answers_for(message.recipient)}",
                retry_after_s=NOBODY_RETRY_S,
            )

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await worded.ask(self._questions, address, question, self.send)

    async def _connected(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECTED_TIMEOUT_S):
                while self._connection is None or not self._connection.is_up:
                    self._is_connected.clear()
                    await self._is_connected.wait()
                return self._connection
        except TimeoutError as err:
            raise ChannelUnavailable(f"{self._broker.name} is not connected") from err

    async def _hear(self, came: Came, deliver: Deliver) -> None:
        if came.is_retained:
            # It was written some time ago, and would come again with every start
            _log.info("what is retained at %r is nobody's message", came.topic)
            return
        inbound = self._command(came) or await self._letter(came)
        if inbound is None:
            _log.info("what came at %r is no message", came.topic[:100])
        elif not self._questions.answer(inbound):
            await deliver(inbound)

    def _command(self, came: Came) -> Inbound | None:
        place = self._topics.pin_of(came.topic)
        board = next((one for one in self._boards if place and one.name == place[0]), None)
        if place is None or board is None:
            return None
        is_only = len(self._boards) == 1
        order = letters.order_of(board, place[1], came.payload, is_only=is_only)
        if not order:
            return None
        return letters.command_of(order, *place, secrets.token_hex(8), self._clock.wall_s())

    async def _letter(self, came: Came) -> Inbound | None:
        sender = self._topics.sender_of(came.topic)
        letter = letters.read(came.payload) if sender else None
        if letter is None:
            return None
        known = f"{sender}:{letter.id}"
        if not letter.id:
            known = await self._session.message_id(
                came.number, came.topic, came.payload, is_again=came.is_again
            )
        return letters.inbound_of(letter, sender, known, self._clock.wall_s())

    def _device(self, known: str) -> Device:
        wanted = self._settings
        return Device(known, wanted.topic, wanted.home_assistant, wanted.every_s)
