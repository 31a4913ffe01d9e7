"""Channel of clients that speak Wyoming: it listens for them itself, and needs no gateway."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from agent.channels.base import SPOKEN_HINT, Deliver
from agent.errors import ChannelRefused
from agent.gateway.address import tcp_socket
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.desk import AssistantDesk
from agent.gateway.assistants.wyoming.clients import NAME, WyomingPlace, exact
from agent.gateway.assistants.wyoming.connection import WyomingConnection
from agent.net.wyoming import MAX_LINE_BYTES
from agent.text.echo import OwnSpeech

_log = logging.getLogger(__name__)

# Home Assistant opens one for each sentence; a house has some rooms
MAX_CONNECTIONS = 32
MAX_CONNECTIONS_OF_ONE = 12
# Addresses that were turned away are told once, and not remembered beyond this many
_MAX_STRANGERS = 100


class WyomingChannel(AssistantChannel):
    """Channel of the clients at one port.

    Args:
        desk_of: makes the desk of a channel, at which requests become messages.
        own: what the agent has said lately, in all rooms.
    """

    name = NAME
    abilities = replace(AssistantChannel.abilities, hint=SPOKEN_HINT)

    def __init__(
        self,
        place: WyomingPlace,
        desk_of: Callable[[AssistantChannel], AssistantDesk],
        own: OwnSpeech,
    ) -> None:
        super().__init__()
        self.place = place
        # The system's choice where the settings say 0; 0 while nothing listens
        self.port = 0
        self._desk = desk_of(self)
        self._open: Counter[str] = Counter()
        self._strangers: set[str] = set()
        self._own = own

    @property
    def open(self) -> int:
        """Return the number of connections."""
        return self._open.total()

    async def listen(self, deliver: Deliver) -> None:
        """Raises ChannelRefused: it cannot listen there."""
        try:
            made = tcp_socket(self.place.address, self.place.port)
        except OSError as err:
            raise ChannelRefused(
                f"wyoming.listen: cannot listen at {self.place.in_words}: {err.strerror}"
            ) from err
        async with asyncio.TaskGroup() as tasks:
            met = partial(self._met, tasks)
            server = await asyncio.start_server(met, sock=made, limit=MAX_LINE_BYTES)
            self.port = int(made.getsockname()[1])
            _log.info("wyoming: listening (address=%s)", self.place.in_words)
            try:
                await super().listen(deliver)
            finally:
                server.close()
                self.port = 0

    def _met(
        self, tasks: asyncio.TaskGroup, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        peer = writer.get_extra_info("peername")
        client = exact(peer[0]) if peer else ""
        if not client or not self._has_place(client):
            writer.transport.abort()
            return
        self._open[client] += 1
        task = tasks.create_task(self._connection(client, reader, writer).run())
        task.add_done_callback(partial(self._left, client, writer))

    def _connection(
        self, client: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> WyomingConnection:
        return WyomingConnection(self._desk, client, reader, writer, self._own)

    def _left(self, client: str, writer: asyncio.StreamWriter, _task: object) -> None:
        # Also of a task that was cancelled before its first step
        self._open.subtract([client])
        writer.close()

    def _has_place(self, client: str) -> bool:
        if not self.place.admits(client):
            if client not in self._strangers and len(self._strangers) < _MAX_STRANGERS:
                self._strangers.add(client)
                _log.warning("wyoming: address refused, not in wyoming.clients (from=%s)", client)
            return False
        is_full = self.open >= MAX_CONNECTIONS
        return not is_full and self._open[client] < MAX_CONNECTIONS_OF_ONE
