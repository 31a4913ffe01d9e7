"""Channel of the other devices: messages by a broker of the house, or straight by the network.

Neither way is trusted: what has no right seal is dropped. A way that is cut is tried again and
again; what is at work for somebody goes on meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agent.channels.base import Abilities, Deliver
from agent.devices.caller import GREET_EVERY_S, DeviceCaller, tell_of_gone
from agent.devices.host import NAME, DeviceHost
from agent.devices.wire import (
    MAX_MESSAGE_BYTES,
    DeviceMessage,
    DeviceReply,
    DeviceSeal,
    UnreadableMessage,
)
from agent.errors import ChannelError, ChannelUnavailable
from agent.gateway.address import tcp_socket
from agent.gateway.assistants.channel import AssistantChannel
from agent.system.clock import Clock

if TYPE_CHECKING:
    from socket import socket

    from agent.access.owner import Tell

_log = logging.getLogger(__name__)

# A way that was cut is tried again after this, then ever later
RETRY_S, LONGEST_RETRY_S = 0.5, 10.0
# Of the same house: who does not answer a connection by then is away
CONNECT_S = 3.0
# A connection says who it is at once
GREETING_S = 5.0
# A message that begins to come is there soon
MESSAGE_S = 10.0
# Each other device has one connection to us, and one that it forgot
MAX_CONNECTIONS = 32
# Whoever is there greets every minute; who has lost its power or its address never hangs up
SILENT_S = 3 * GREET_EVERY_S
# Handlings of messages that have not ended; an act does not count, it has a place of its own
MAX_HANDLED = 64
_LENGTH_BYTES = 4
_MAX_NAME_BYTES = 64
Answer = Callable[[bytes], Awaitable[None]]


class BrokerArrival(Protocol):
    """Message that came by the broker."""

    @property
    def topic(self) -> str: ...

    @property
    def payload(self) -> bytes: ...

    @property
    def is_retained(self) -> bool: ...


class BrokerConnection(Protocol):
    """Connection to the broker, until something raises ChannelError."""

    @property
    def is_up(self) -> bool: ...

    async def arrival(self) -> BrokerArrival: ...

    async def publish(self, topic: str, payload: bytes) -> bool: ...

    async def subscribe(self, wanted: Sequence[tuple[str, int]]) -> None: ...


class BrokerPost:
    """Way to one other device by the broker; there while it is connected."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.connection: BrokerConnection | None = None

    async def send(self, payload: bytes) -> None:
        """See `Post`."""
        if self.connection is None or not self.connection.is_up:
            raise ChannelUnavailable("the broker is not connected")
        await self.connection.publish(self._topic, payload)

    def close(self) -> None:
        """Keep the connection, which is everybody's."""


class DirectPost:
    """Way to one other device by a connection of our own; what it answers there is heard."""

    def __init__(self, own: str, host: str, port: int, heard: Callable[[bytes], None]) -> None:
        self._own = own
        self._host, self._port = host, port
        self._heard = heard
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def send(self, payload: bytes) -> None:
        """See `Post`."""
        try:
            async with self._one_at_a_time, asyncio.timeout(CONNECT_S):
                if self._writer is None or self._writer.is_closing():
                    await self._connect()
                assert self._writer is not None
                await write_framed(self._writer, payload)
        except (OSError, TimeoutError) as err:
            self.close()
            raise ChannelUnavailable(f"{self._host}:{self._port} cannot be reached") from err

    def close(self) -> None:
        """See `Post`."""
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.transport.abort()
        self._writer = self._reading = None

    async def _connect(self) -> None:
        self.close()
        reader, self._writer = await asyncio.open_connection(self._host, self._port)
        await write_framed(self._writer, self._own.encode())
        self._reading = asyncio.ensure_future(self._read(reader, self._writer))

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self._heard(await read_framed(reader, MAX_MESSAGE_BYTES))
        except (OSError, EOFError, ValueError):
            writer.close()


class OtherDevice(Struct, frozen=True):
    """One other device: the seal between us, and the caller that asks it."""

    seal: DeviceSeal
    caller: DeviceCaller


class DevicesChannel(AssistantChannel):
    """Channel of the other devices of the owner.

    Args:
        broker: with the posts by name and the topic of this device; None without one.
        listen: address and port for those who come by themselves; None without.
        tell: the owner.
    """

    name = NAME
    abilities = Abilities(answers_only=True, is_relayed=True)

    def __init__(
        self,
        others: Mapping[str, OtherDevice],
        host: DeviceHost,
        clock: Clock,
        tell: "Tell",
        broker: "BrokerWay | None" = None,
        listen: tuple[str, int] | None = None,
    ) -> None:
        super().__init__()
        self._others = others
        self._host = host
        self._clock = clock
        self._tell = tell
        self._broker = broker
        self._listen_at = listen
        # The system's choice where the settings say 0; 0 while nothing listens
        self.port = 0
        self._handled: set[asyncio.Task[None]] = set()
        self._connections = 0
        self._troubled: set[str] = set()
        self._gap = ""

    @property
    def gap(self) -> str:
        return self._gap

    async def listen(self, deliver: Deliver) -> None:
        async with asyncio.TaskGroup() as tasks:
            if self._broker is not None:
                tasks.create_task(self._stay_at(self._broker))
            if self._listen_at is not None:
                tasks.create_task(self._serve(*self._listen_at, tasks))
            tasks.create_task(tell_of_gone(self._host.ledger, self._others, self._tell))
            for other in self._others.values():
                tasks.create_task(other.caller.run(self._tell))
            try:
                await super().listen(deliver)
            finally:
                for other in self._others.values():
                    other.caller.hang_up()

    async def aclose(self) -> None:
        await self._host.aclose()

    def heard(self, sender: str, payload: bytes, answer: Answer) -> None:
        """Take a message that somebody brings as this device's; a forged one is dropped."""
        other = self._others.get(sender)
        if other is None:
            self._note(sender, "it is not in devices.others")
            return
        try:
            message = other.seal.opened(payload)
        except UnreadableMessage as err:
            self._note(sender, str(err))
            return
        if message.reply is not None:
            other.caller.heard(message.reply)
        if message.request is not None and len(self._handled) < MAX_HANDLED:

            async def reply(told: DeviceReply) -> None:
                # Who does not get it asks again
                with contextlib.suppress(ChannelError, OSError):
                    await answer(other.seal.sealed(DeviceMessage(reply=told)))

            task = asyncio.ensure_future(self._host.take(sender, message.request, reply))
            self._handled.add(task)
            task.add_done_callback(self._handled.discard)

    def _note(self, sender: str, why: str) -> None:
        """Log a message that is dropped, once for each sender: anybody may send thousands."""
        if sender not in self._troubled and len(self._troubled) < MAX_HANDLED:
            self._troubled.add(sender)
            _log.warning("devices: message dropped (from=%r, reason=%s)", sender, why)

    async def _stay_at(self, way: "BrokerWay") -> None:
        wait_s = RETRY_S
        while True:
            try:
                async with way.connected() as connection:
                    wait_s = RETRY_S
                    while True:
                        came = await connection.arrival()
                        if not came.is_retained:
                            sender = came.topic.rpartition("/")[2][:_MAX_NAME_BYTES]
                            self.heard(sender, came.payload, way.answer_to(sender))
            except ChannelError as err:
                _log.info("devices: broker away (reason=%s, again_in_s=%g)", err, wait_s)
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_RETRY_S)

    async def _serve(self, address: str, port: int, tasks: asyncio.TaskGroup) -> None:
        made = await self._bound(address, port)
        server = await asyncio.start_server(partial(self._met, tasks), sock=made)
        self.port = int(made.getsockname()[1])
        _log.info("devices: listening (address=%s, port=%d)", address, self.port)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            self.port = 0

    async def _bound(self, address: str, port: int) -> "socket":
        """Return the listening socket; the other ways work while it cannot be had."""
        while True:
            try:
                made = tcp_socket(address, port)
            except OSError as err:
                said = f"devices.listen: cannot listen at {address}:{port}: {err.strerror}"
                if said != self._gap:
                    _log.warning("%s", said)
                self._gap = said
                await self._clock.sleep(LONGEST_RETRY_S)
            else:
                self._gap = ""
                return made

    def _met(
        self, tasks: asyncio.TaskGroup, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._connections >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections += 1
        task = tasks.create_task(self._attend(reader, writer))
        task.add_done_callback(partial(self._left, writer))

    def _left(self, writer: asyncio.StreamWriter, _task: object) -> None:
        # Also of a task that was cancelled before its first step
        self._connections -= 1
        writer.transport.abort()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def answer(payload: bytes) -> None:
            async with asyncio.timeout(MESSAGE_S):
                await write_framed(writer, payload)

        with contextlib.suppress(OSError, EOFError, ValueError, TimeoutError):
            async with asyncio.timeout(GREETING_S):
                sender = (await read_framed(reader, _MAX_NAME_BYTES)).decode("ascii", "replace")
            while sender in self._others:
                async with asyncio.timeout(SILENT_S):
                    payload = await read_framed(reader, MAX_MESSAGE_BYTES)
                self.heard(sender, payload, answer)


class BrokerWay:
    """Way by a broker: one topic for each pair, `BASE/RECEIVER/SENDER`.

    Args:
        connect: opens a connection to the broker.
        posts: to each other device, by name.
    """

    def __init__(
        self,
        connect: Callable[[], contextlib.AbstractAsyncContextManager[BrokerConnection]],
        base: str,
        own: str,
        posts: Mapping[str, BrokerPost],
    ) -> None:
        self._connect = connect
        self._base, self._own = base, own
        self._posts = posts

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[BrokerConnection]:
        """Open the connection for the length of the block."""
        async with self._connect() as connection:
            # At most once: who is away when it is said hears it again
            await connection.subscribe([(f"{self._base}/{self._own}/+", 0)])
            self._use(connection)
            try:
                yield connection
            finally:
                self._use(None)

    def answer_to(self, sender: str) -> Answer:
        """Return what sends to a device."""
        post = self._posts.get(sender)
        return _nowhere if post is None else post.send

    def _use(self, connection: BrokerConnection | None) -> None:
        for post in self._posts.values():
            post.connection = connection


async def _nowhere(_payload: bytes) -> None:
    """Send to nobody: a device that is not known gets no answer."""


async def write_framed(writer: asyncio.StreamWriter, payload: bytes) -> None:
    """Write a message behind its length."""
    writer.write(len(payload).to_bytes(_LENGTH_BYTES) + payload)
    await writer.drain()


async def read_framed(reader: asyncio.StreamReader, most_bytes: int) -> bytes:
    """Return the next message.

    Raises:
        EOFError: the connection ended.
        ValueError: it is too long.
    """
    length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
    if length > most_bytes:
        raise ValueError(f"a message of {length} bytes")
    async with asyncio.timeout(MESSAGE_S):
        return await reader.readexactly(length)
