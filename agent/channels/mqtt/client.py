"""Connection to a broker, by paho-mqtt on a thread of its own.

What comes is confirmed only when `confirm` is called; what goes is sent when the broker has
confirmed it. Used once: for every new connection there is a new instance.
"""

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from msgspec import Struct
from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from agent.channels.mqtt.messages import OFFLINE
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.text.printable import printable_line

# Name, connection and TLS, then the broker's greeting
CONNECT_TIMEOUT_S = 10.0
# A broker of the same house answers in milliseconds, one far away in a second
ANSWER_TIMEOUT_S = 15.0
# Who is silent for one and a half times this is gone, for both sides
KEEP_ALIVE_S = 30
# For so long a broker keeps what is written while the device is away
SESSION_EXPIRY_S = 7 * 24 * 3600
# What may be under way to us unconfirmed
RECEIVE_MAXIMUM = 16
# Longer than any message of a person
MAX_PACKET_BYTES = 256 * 1024
# Unconfirmed ones are few; of others no more wait than this, and the newest are dropped
MAX_WAITING = 200
_FAILURES = 0x80
_NOBODY = 0x10
_WITH_WILL = 0x04
# Numbers that a subscription may have
_MOST_SUBSCRIPTIONS = 2**28 - 1
# Reason codes that a person has to do something about, and what
_REFUSALS = {
    0x84: "it speaks no MQTT 5: Mosquitto does from 1.6 on",
    0x85: "it does not take our client id",
    0x86: "user or password is wrong: set channels.mqtt.user and password_file",
    0x87: "it does not let this user in: look at its access rules",
    0x8A: "it has banned us",
    0x8C: "it wants another kind of login",
    0x8E: "another program uses our client id: is the state folder a copy?",
}


class MqttBroker(Struct, frozen=True):
    """Broker, and our account there.

    Args:
        context: of TLS; None without.
        will: where the broker says that we are gone; empty where it says nothing.
    """

    host: str
    port: int
    user: str
    password: Secret
    context: ssl.SSLContext | None
    will: str

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


class MqttArrival(Struct, frozen=True):
    """Message from the broker.

    Args:
        is_again: it was sent before and not confirmed.
        is_late: it came to a subscription of before this connection, and was kept until now.
    """

    topic: str
    payload: bytes
    number: int
    is_confirmed: bool
    is_again: bool
    is_retained: bool
    is_late: bool = False


class MqttConnection:
    """Connection that works until something raises."""

    def __init__(self, broker: MqttBroker, client_id: str, beat: Callable[[], None]) -> None:
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._beat = beat
        self._came: asyncio.Queue[MqttArrival | None] = asyncio.Queue()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._waiting: dict[int, asyncio.Future[ReasonCode]] = {}
        self._trouble: ChannelError | None = None
        # Of what is subscribed over this connection; 0 where the broker knows no such numbers
        self._subscription = secrets.randbelow(_MOST_SUBSCRIPTIONS) + 1
        # The broker has kept the session: something may have waited there
        self.is_resumed = True
        self._client = self._made(client_id)

    @property
    def is_up(self) -> bool:
        return self._trouble is None

    async def arrival(self) -> MqttArrival:
        """Return the next message.

        Raises:
            ChannelError: the connection is gone.
        """
        came = await self._came.get()
        if came is None:
            raise self._trouble or ChannelUnavailable(f"{self._broker.name} hung up")
        return came

    def confirm(self, came: MqttArrival) -> None:
        """Confirm a message, which the broker may then forget."""
        if not came.is_confirmed:
            self._client.ack(came.number, 1)

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Publish; return true if somebody has subscribed, as far as the broker tells.

        Raises:
            ChannelError: the broker does not have it.
        """
        told = self._client.publish(topic, payload, qos=1, retain=retain)
        reason = await self._answer(told.mid, int(told.rc))
        if reason.value >= _FAILURES:
            raise MessageRefused(
                f"{self._broker.name} refused a message at {topic} ({_words(reason)}): check its "
                "access rules"
            )
        return bool(reason.value != _NOBODY)

    async def subscribe(self, wanted: Sequence[tuple[str, int]]) -> None:
        """Subscribe to these filters, each with its QoS; retained messages are not sent.

        Raises:
            ChannelError: the broker does not let us.
        """
        for topic, quality in wanted:
            options = SubscribeOptions(quality, noLocal=True, retainHandling=2)
            error, number = self._client.subscribe(
                topic, options=options, properties=self._numbered()
            )
            reason = await self._answer(number or 0, int(error))
            if reason.value >= _FAILURES:
                raise ChannelRefused(
                    f"{self._broker.name} refused the subscription to {topic} ({_words(reason)}): "
                    "check its access rules"
                )

    async def begin(self) -> None:
        """Connect.

        Raises:
            ChannelError: it cannot be.
        """
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await asyncio.to_thread(self._connect)
                self._client.loop_start()
                await self._ready
        except TimeoutError as err:
            raise ChannelUnavailable(f"{self._broker.name} does not answer") from err
        except ssl.SSLCertVerificationError as err:
            raise ChannelRefused(
                f"{self._broker.name} has a certificate that is not trusted "
                f"({printable_line(err.verify_message, 100)}): set channels.mqtt.ca_file to the "
                "certificate of its authority"
            ) from err
        except OSError as err:
            said = printable_line(err.strerror or str(err), 100)
            raise ChannelUnavailable(f"cannot reach {self._broker.name}: {said}") from err

    def end(self) -> None:
        """Disconnect, and wait for the thread."""
        # Gone is gone, also in good order: the broker is to say so
        reason = (
            ReasonCode(PacketTypes.DISCONNECT, identifier=_WITH_WILL) if self._broker.will else None
        )
        self._client.disconnect(reasoncode=reason)
        self._client.loop_stop()

    def _numbered(self) -> Properties | None:
        if not self._subscription:
            return None
        properties = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]  # not theirs
        properties.SubscriptionIdentifier = self._subscription
        return properties

    def _made(self, client_id: str) -> Client:
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            protocol=MQTTv5,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        broker = self._broker
        if broker.user:
            client.username_pw_set(broker.user, broker.password.reveal() or None)
        if broker.context is not None:
            client.tls_set_context(broker.context)
        if broker.will:
            client.will_set(broker.will, OFFLINE, qos=1, retain=True)
        client.connect_timeout = CONNECT_TIMEOUT_S / 2
        client.on_connect = lambda *told: self._hop(self._greeted, *told[2:5])
        client.on_disconnect = lambda *told: self._hop(self._gone, told[3])
        client.on_message = lambda *told: self._hop(self._heard, told[2])
        client.on_publish = lambda *told: self._hop(self._told, told[2], told[3])
        client.on_subscribe = lambda *told: self._hop(self._told, told[2], told[3][0])
        return client

    def _connect(self) -> None:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # not theirs
        properties.SessionExpiryInterval = SESSION_EXPIRY_S
        properties.ReceiveMaximum = RECEIVE_MAXIMUM
        properties.MaximumPacketSize = MAX_PACKET_BYTES
        broker = self._broker
        self._client.connect(
            broker.host, broker.port, KEEP_ALIVE_S, clean_start=False, properties=properties
        )

    def _hop(self, call: Callable[..., None], *arguments: Any) -> None:
        # The library calls from its thread, also when the loop is gone before it is
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _greeted(self, flags: ConnectFlags, reason: ReasonCode, told: Properties | None) -> None:
        if not reason.is_failure:
            self._beat()
            self.is_resumed = flags.session_present
            if not getattr(told, "SubscriptionIdentifierAvailable", 1):
                self._subscription = 0
            if not self._ready.done():
                self._ready.set_result(None)
        else:
            self._fail(reason)

    def _gone(self, reason: ReasonCode) -> None:
        self._fail(reason)

    def _fail(self, reason: ReasonCode) -> None:
        if self._trouble is not None:
            return
        advice = _REFUSALS.get(reason.value)
        self._trouble = (
            ChannelRefused(f"{self._broker.name} refuses us: {advice}")
            if advice
            else ChannelUnavailable(f"{self._broker.name} hung up: {_words(reason)}")
        )
        everybody: list[asyncio.Future[Any]] = [self._ready, *self._waiting.values()]
        for waiting in everybody:
            if not waiting.done():
                waiting.set_exception(self._trouble)
                # Whoever waits is told; where nobody does, nobody has to be
                waiting.exception()
        self._came.put_nowait(None)

    def _heard(self, message: MQTTMessage) -> None:
        self._beat()
        is_confirmed = message.qos == 0
        if is_confirmed and self._came.qsize() >= MAX_WAITING:
            return
        numbers = getattr(message.properties, "SubscriptionIdentifier", [])
        self._came.put_nowait(
            MqttArrival(
                message.topic,
                bytes(message.payload),
                message.mid,
                is_confirmed,
                bool(message.dup),
                bool(message.retain),
                bool(self._subscription) and self._subscription not in numbers,
            )
        )

    def _told(self, number: int, reason: ReasonCode) -> None:
        self._beat()
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(reason)

    async def _answer(self, number: int, error: int) -> ReasonCode:
        if self._trouble is not None:
            raise self._trouble
        if error:
            raise ChannelUnavailable(f"{self._broker.name} is not connected")
        waiting: asyncio.Future[ReasonCode] = self._loop.create_future()
        self._waiting[number] = waiting
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await waiting
        except TimeoutError as err:
            raise ChannelUnavailable(f"{self._broker.name} did not confirm") from err
        finally:
            del self._waiting[number]


@contextlib.asynccontextmanager
async def connected(
    broker: MqttBroker, client_id: str, beat: Callable[[], None]
) -> AsyncIterator[MqttConnection]:
    """Open a connection for the length of the block.

    Raises:
        ChannelError: there is none.
    """
    connection = MqttConnection(broker, client_id, beat)
    try:
        await connection.begin()
        yield connection
    finally:
        await asyncio.to_thread(connection.end)


def _words(reason: ReasonCode) -> str:
    return printable_line(str(reason), 100)
