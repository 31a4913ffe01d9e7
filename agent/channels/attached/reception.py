"""Reception of terminals: identified before a byte is read, limited in number, told why not."""

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.channels.attached.frames import (
    MAX_SAID_FRAME_BYTES,
    VERSION,
    Bye,
    Hello,
    encoded,
    field_of,
    from_terminal,
)
from agent.channels.attached.peers import Visitor, group_id, peer_of, refusal, visitor
from agent.channels.attached.wire import Wire
from agent.clock import Clock
from agent.errors import ChannelError, ChannelUnavailable

_log = logging.getLogger(__name__)

# A terminal says hello as soon as it is connected
HELLO_TIMEOUT_S = 5.0
# Terminals of one person, and of all: as many as somebody has windows open
MAX_TERMINALS_PER_USER = 8
MAX_TERMINALS = 32
# Whoever is turned away reads one sentence, or does not
_BYE_TIMEOUT_S = 2.0
# No descriptor was free: whoever wants to attach waits for so long
_ACCEPT_AGAIN_S = 1.0
_FULL_TEXT = "too many terminals are attached: leave one of them first"


@dataclass(frozen=True, slots=True)
class Guest:
    """A terminal that was let in.

    Args:
        plain: a pipe, at which nobody can be asked.
        looks: only asks how the agent is.
    """

    wire: Wire
    who: Visitor
    plain: bool
    looks: bool = False


Serve = Callable[[Guest], Awaitable[None]]


class Reception:
    """Lets terminals in."""

    def __init__(self, clock: Clock, serve: Serve) -> None:
        self._clock = clock
        self._serve = serve
        self._inside: Counter[int] = Counter()
        self._group: int | None = None

    async def run(self, listening: socket.socket) -> None:
        """Until cancelled."""
        self._group = await asyncio.to_thread(group_id)
        async with asyncio.TaskGroup() as tasks:
            while True:
                connection = await self._accept(listening)
                tasks.create_task(self._receive(connection))

    async def _accept(self, listening: socket.socket) -> socket.socket:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as err:
                _log.warning("nobody can attach for a moment: %s", err.strerror)
                await self._clock.sleep(_ACCEPT_AGAIN_S)
            else:
                return connection

    async def _receive(self, connection: socket.socket) -> None:
        wire = Wire(connection, MAX_SAID_FRAME_BYTES)
        try:
            peer = peer_of(connection)
            who = visitor(peer, os.geteuid(), self._group)
            if who is None:
                _log.warning("user %d wanted to attach and is not let in", peer.uid)
                await _turn_away(wire, refusal(peer))
            elif self._is_full(who):
                await _turn_away(wire, _FULL_TEXT)
            else:
                await self._let_in(wire, who)
        except (ChannelError, OSError) as err:
            _log.info("a terminal is gone: %s", err)
        finally:
            wire.close()

    def _is_full(self, who: Visitor) -> bool:
        if self._inside[who.uid] >= MAX_TERMINALS_PER_USER:
            return True
        return self._inside.total() >= MAX_TERMINALS

    async def _let_in(self, wire: Wire, who: Visitor) -> None:
        self._inside[who.uid] += 1
        try:
            if (hello := await _hello(wire)) is not None:
                await self._serve(Guest(wire, who, hello.plain, hello.looks))
        finally:
            self._inside[who.uid] -= 1


async def _hello(wire: Wire) -> Hello | None:
    try:
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            line = await wire.receive()
    except TimeoutError as err:
        raise ChannelUnavailable("it said nothing") from err
    if line is None:
        return None
    if (version := field_of(line, "version")) != VERSION and isinstance(version, int):
        await _turn_away(
            wire,
            f"the running agent speaks version {VERSION} of this, and you speak {version}: "
            "restart the agent after an update, for example with `systemctl restart barnacle`",
        )
        return None
    hello = from_terminal(line)
    if isinstance(hello, Hello):
        return hello
    await _turn_away(wire, "this is the socket of `barnacle chat`, which says hello first")
    return None


async def _turn_away(wire: Wire, text: str) -> None:
    try:
        async with asyncio.timeout(_BYE_TIMEOUT_S):
            await wire.send(encoded(Bye(text, is_final=True)))
    except TimeoutError:
        return
