"""One attached terminal, as the agent sees it: what goes there, in order, without waiting for it.

A terminal that reads slowly holds up nobody: its drafts are drawn together, and when too much
waits for it the connection is ended; it attaches again and hears what it has missed.
"""

import asyncio
from collections import deque

from agent.channels.attached.frames import (
    MAX_SHOWN_CHARS,
    Answer,
    Draft,
    FromAgent,
    encoded,
    sendable,
)
from agent.channels.attached.peers import Visitor
from agent.channels.attached.wire import Wire
from agent.clock import Clock
from agent.errors import ChannelUnavailable
from agent.messages import Outbound

# What waits for one terminal: two answers of the longest kind
MAX_WAITING_BYTES = 4 * 1024 * 1024
# A terminal shows an answer at once; one that was stopped by hand is taken for gone, as the same
# person's other terminals wait for it. Less than a delivery has, so that it is no failed one
SHOWN_TIMEOUT_S = 5.0


class Session:
    """From hello to goodbye."""

    def __init__(self, wire: Wire, visitor: Visitor, clock: Clock, *, plain: bool) -> None:
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
        self.post(Answer(number, text, message_id, message.outbox_id))
        if not self.is_open:
            self._fail(number)
        try:
            async with asyncio.timeout(SHOWN_TIMEOUT_S):
                await shown
        except TimeoutError as err:
            self.end()
            raise ChannelUnavailable("the terminal shows nothing") from err
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
        raise ChannelUnavailable("it was too slow")

    def _draw(self) -> None:
        drafts, self._drafts = self._drafts, {}
        for message_id, text in drafts.items():
            drawn = self._drawn.get(message_id, "")
            at = len(drawn) if text.startswith(drawn) else 0
            self._drawn[message_id] = text
            self._append(Draft(message_id, at, text[at:]))

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
