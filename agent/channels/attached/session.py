"""One attached terminal, as the agent sees it: what goes there, in order, without waiting for it.

A terminal that reads slowly holds up nobody: its drafts are drawn together, and when too much
waits for it the connection is ended; it attaches again and hears what it has missed.
"""

import asyncio
import logging
import os
import socket
from collections import Counter, deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from agent.channels.attached.frames import (
    MAX_SAID_FRAME_BYTES,
    MAX_SHOWN_CHARS,
    VERSION,
    ByeFrame,
    DraftFrame,
    FromAgent,
    HelloFrame,
    MessageFrame,
    encoded,
    field_of,
    from_terminal,
    sendable,
)
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.peers import TerminalUser, group_id, peer_of, refusal, visitor
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Outbound
from agent.system.clock import Clock

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


class AdmittedTerminal(Struct, frozen=True):
    """A terminal that was let in.

    Args:
        plain: a pipe, at which nobody can be asked.
        looks: only asks how the agent is.
    """

    wire: LineConnection
    who: TerminalUser
    plain: bool
    looks: bool = False


Serve = Callable[[AdmittedTerminal], Awaitable[None]]


class TerminalListener:
    """Lets terminals in."""

    def __init__(self, clock: Clock, serve: Serve) -> None:
        self._clock = clock
        self._serve = serve
        self._inside: Counter[int] = Counter()
        self._group: int | None = None

    async def run(self, listening: socket.socket) -> None:
        """Run until cancelled."""
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
                _log.warning(
                    "terminals: cannot accept connections for a moment (reason=%s)", err.strerror
                )
                await self._clock.sleep(_ACCEPT_AGAIN_S)
            else:
                return connection

    async def _receive(self, connection: socket.socket) -> None:
        wire = LineConnection(connection, MAX_SAID_FRAME_BYTES)
        try:
            peer = peer_of(connection)
            who = visitor(peer, os.geteuid(), self._group)
            if who is None:
                _log.warning("terminals: user refused (uid=%d)", peer.uid)
                await _turn_away(wire, refusal(peer))
            elif self._is_full(who):
                await _turn_away(wire, _FULL_TEXT)
            else:
                await self._let_in(wire, who)
        except (ChannelError, OSError) as err:
            _log.info("terminals: terminal gone (reason=%s)", err)
        finally:
            wire.close()

    def _is_full(self, who: TerminalUser) -> bool:
        if self._inside[who.uid] >= MAX_TERMINALS_PER_USER:
            return True
        return self._inside.total() >= MAX_TERMINALS

    async def _let_in(self, wire: LineConnection, who: TerminalUser) -> None:
        self._inside[who.uid] += 1
        try:
            if (hello := await _hello(wire)) is not None:
                await self._serve(AdmittedTerminal(wire, who, hello.plain, hello.looks))
        finally:
            self._inside[who.uid] -= 1


async def _hello(wire: LineConnection) -> HelloFrame | None:
    try:
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            line = await wire.receive()
    except TimeoutError as err:
        raise ChannelUnavailable("the terminal sent no hello in time") from err
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
    if isinstance(hello, HelloFrame):
        return hello
    await _turn_away(wire, "this is the socket of `barnacle chat`, which says hello first")
    return None


async def _turn_away(wire: LineConnection, text: str) -> None:
    try:
        async with asyncio.timeout(_BYE_TIMEOUT_S):
            await wire.send(encoded(ByeFrame(text, is_final=True)))
    except TimeoutError:
        return


# What waits for one terminal: two answers of the longest kind
MAX_WAITING_BYTES = 4 * 1024 * 1024
# A terminal shows an answer at once; one that was stopped by hand is taken for gone, as the same
# person's other terminals wait for it. Less than a delivery has, so that it is no failed one
SHOWN_TIMEOUT_S = 5.0


class TerminalSession:
    """From hello to goodbye."""

    def __init__(
        self, wire: LineConnection, visitor: TerminalUser, clock: Clock, *, plain: bool
    ) -> None:
        self.visitor = visitor
        self.plain = plain
        self.is_open = True
        self.ended_at_s = 0.0
        # By itself: it does not come back for its answers
        self.has_left = False
        # What it said and has no answer to
        self.unanswered: set[str] = set()
        self._wire = wire
        self._clock = clock
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._drafts: dict[str, str] = {}
        # What the terminal has of each answer that grows
        self._drawn: dict[str, str] = {}
        self._shown: dict[int, asyncio.Future[None]] = {}
        self._numbers = 0
        self._something = asyncio.Event()

    def post(self, frame: FromAgent) -> None:
        """Send it after all that was posted before."""
        self._draw()
        self._append(frame)

    def draft(self, message_id: str, text: str) -> None:
        """Of drafts that were not sent yet only the newest counts."""
        if self.is_open and not self.plain and message_id in self.unanswered:
            self._drafts[message_id] = sendable(text, MAX_SHOWN_CHARS)
            self._something.set()

    async def hand_over(self, message: Outbound, message_id: str) -> None:
        """Return when the person has it on the screen.

        Raises:
            ChannelUnavailable: the terminal is gone.
        """
        self._numbers += 1
        number = self._numbers
        self._drafts.pop(message_id, None)
        text = sendable(message.text, MAX_SHOWN_CHARS)
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._shown[number] = shown
        self.post(MessageFrame(number, text, message_id, message.outbox_id))
        if not self.is_open:
            self._fail(number)
        try:
            async with asyncio.timeout(SHOWN_TIMEOUT_S):
                await shown
        except TimeoutError as err:
            self.end()
            raise ChannelUnavailable("the terminal did not confirm the answer in time") from err
        finally:
            del self._shown[number]
        self._drawn.pop(message_id, None)
        self.unanswered.discard(message_id)

    def note_shown(self, number: int) -> None:
        shown = self._shown.get(number)
        if shown is not None and not shown.done():
            shown.set_result(None)

    def end(self) -> None:
        """Nothing more is sent; what was not confirmed has not arrived."""
        if not self.is_open:
            return
        self.is_open = False
        self.ended_at_s = self._clock.monotonic_s()
        for number in self._shown:
            self._fail(number)
        self._something.set()

    async def write(self) -> None:
        """Send what is posted, until cancelled.

        Raises:
            ChannelUnavailable: the terminal does not take it, or not fast enough.
        """
        while self.is_open:
            self._draw()
            while self._lines:
                line = self._lines.popleft()
                self._waiting_bytes -= len(line)
                await self._wire.send(line)
            self._something.clear()
            if not self._drafts and self.is_open:
                await self._something.wait()
        raise ChannelUnavailable("the terminal reads too slowly")

    def _draw(self) -> None:
        drafts, self._drafts = self._drafts, {}
        for message_id, text in drafts.items():
            drawn = self._drawn.get(message_id, "")
            at = len(drawn) if text.startswith(drawn) else 0
            self._drawn[message_id] = text
            self._append(DraftFrame(message_id, at, text[at:]))

    def _append(self, frame: FromAgent) -> None:
        line = encoded(frame)
        if not self.is_open or self._waiting_bytes + len(line) > MAX_WAITING_BYTES:
            self.end()
            return
        self._waiting_bytes += len(line)
        self._lines.append(line)
        self._something.set()

    def _fail(self, number: int) -> None:
        shown = self._shown[number]
        if not shown.done():
            shown.set_exception(ChannelUnavailable("the terminal is gone"))
