"""A session on a port: requests become awaitable, time and bytes reach the session.

Used once. Every call ends: with an answer, with `LinkLost` when it certainly was not sent, or
with `OutcomeUnknown`. It must not open ports or connect again; `SerialBoard` does.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Self

from msgspec import Struct

from agent.errors import CallRefused, LinkError, LinkLost, OutcomeUnknown, WrongDevice
from agent.link.arq import Outgoing
from agent.link.frame import CODES, OK
from agent.link.hello import BoardHello
from agent.link.port import Port
from agent.link.session import ACK_DELAY_S, BoardAnswer, Request, Session, SessionState
from agent.passage import configured, own
from agent.system.clock import Clock
from agent.text.printable import printable_line

# More callers at once than this are refused, so that nothing piles up before a slow board
MAX_PENDING_CALLS = 32
# The board counts the deadline from the moment it has the request: allow for the way and repeats
ANSWER_MARGIN_S = 1.0
# As much of a board's explanation as is shown
MAX_DETAIL_CHARS = 120

_REQUEST_IDS = 2**16

OnEvent = Callable[[bytes], None]


class _Pending(Struct):
    """A call that waits for its answer; made for every one, and a frozen one takes longer."""

    frame: Outgoing
    give_up_at_s: float
    # An error is a result here: a caller that was cancelled never collects it
    outcome: asyncio.Future[BoardAnswer | LinkError]


class BoardConnection:
    """One port and one session, from the greeting until either ends.

    Args:
        is_stopped: the emergency stop is set: the board hears of it before anything else.
    """

    def __init__(self, port: Port, clock: Clock, *, is_stopped: bool = False) -> None:
        self._port = port
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        nonce = 1 + secrets.randbelow(2**32 - 1)
        self.session = Session(nonce, port.path, clock.monotonic_s(), port.rates)
        self.session.counters.baud = self._baud = port.rates.start
        self.session.is_stopped = is_stopped
        # Gets what the board tells by itself
        self.on_event: OnEvent = lambda _: None
        self._pending: dict[int, _Pending] = {}
        self._next_id = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at_s = 0.0
        self._greeted = asyncio.Event()
        self._over = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._port.start(self._on_bytes, self._on_lost)
        self._turn()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._on_lost("the agent has released the board")
        await self._port.aclose()

    async def greet(self) -> BoardHello:
        """Wait for the board to greet back; the session's own limits bound the wait.

        Raises:
            WrongDevice: what answers speaks another version.
            LinkLost: nothing that we understand answers.
        """
        await self._greeted.wait()
        if self.session.state is SessionState.REFUSED:
            raise WrongDevice(self.session.reason)
        if self.session.greeting is None or self.session.is_over:
            raise LinkLost(configured(self.session.reason))
        return self.session.greeting

    def keep_alive(self, is_holding: bool) -> None:  # noqa: FBT001 - a listener of the leases
        """Send frames all the time while outputs depend on it, else only when needed."""
        self.session.is_holding = is_holding
        self._turn()

    def stop(self) -> None:
        """Send the emergency stop now, or first of all once the connection is open."""
        self.session.stop()
        self._turn()

    def allow(self) -> None:
        """No stop any more at a greeting that has not been answered yet."""
        self.session.is_stopped = False

    def drop(self, reason: str) -> None:
        """End the session, so that another one begins."""
        self._on_lost(reason)

    async def lost(self) -> str:
        """Wait for the end of the session; the sentence that says why."""
        await self._over.wait()
        return self.session.reason

    async def call(self, request: Request) -> bytes:
        """Send a request and wait for its result.

        Raises:
            LinkLost: it was not sent.
            OutcomeUnknown: it was sent, and what became of it is not known.
            CallRefused: the board said no.
        """
        if self.session.is_over:
            raise LinkLost(configured(self.session.reason))
        if len(self._pending) >= MAX_PENDING_CALLS and not request.urgent:
            raise CallRefused("busy", own("too many calls are waiting for the board"))
        request_id = self._free_id()
        frame = self.session.request(request, request_id)
        give_up_at_s = self._clock.monotonic_s() + request.deadline_ms / 1000 + ANSWER_MARGIN_S
        pending = _Pending(frame, give_up_at_s, self._loop.create_future())
        self._pending[request_id] = pending
        try:
            self._turn()
            # `_turn` ends it in time: a timer of its own for every call would cost a tenth of it
            outcome = await pending.outcome
        finally:
            del self._pending[request_id]
            if not frame.was_sent:
                self.session.withdraw(frame)
        if isinstance(outcome, LinkError):
            raise outcome
        return _result_of(outcome)

    def _free_id(self) -> int:
        while self._next_id in self._pending:
            self._next_id = (self._next_id + 1) % _REQUEST_IDS
        free = self._next_id
        self._next_id = (free + 1) % _REQUEST_IDS
        return free

    def _on_bytes(self, data: bytes) -> None:
        self.session.receive(data, self._clock.monotonic_s())
        # Before anything is written: what is acknowledged has been taken
        for payload in self.session.take_events():
            self.on_event(payload)
        self._turn()

    def _on_lost(self, reason: str) -> None:
        self.session.end(reason)
        self._turn()

    def _turn(self) -> None:
        now_s = self._clock.monotonic_s()
        self.session.tick(now_s)
        if self.session.rate.baud != self._baud:
            self.session.counters.baud = self._baud = self.session.rate.baud
            self._port.set_baud(self._baud)
        output = self.session.take_output()
        if output:
            self._port.write(output)
        for answer in self.session.take_answers():
            self._settle(answer)
        if self.session.state is not SessionState.GREETING:
            self._greeted.set()
        if self.session.is_over:
            self._fail_pending()
            self._over.set()
        else:
            self._give_up_late(now_s)
        self._set_timer(now_s)

    def _give_up_late(self, now_s: float) -> None:
        for pending in self._pending.values():
            if now_s < pending.give_up_at_s or pending.outcome.done():
                continue
            if pending.frame.was_sent:
                late = own("the board did not answer in time")
                pending.outcome.set_result(OutcomeUnknown(late))
            else:
                busy = own("the board was too busy to answer")
                pending.outcome.set_result(LinkLost(busy))

    def _set_timer(self, now_s: float) -> None:
        is_set = self._timer is not None and self._rings_at_s <= now_s + ACK_DELAY_S
        if is_set and not self.session.is_over:
            # What comes due before it rings is late by less than an acknowledgement may be
            return
        due_at_s = self.session.due_at_s
        if due_at_s is not None:
            for pending in self._pending.values():
                if not pending.outcome.done():
                    due_at_s = min(due_at_s, pending.give_up_at_s)
        if self._timer is not None:
            # One that rings too early looks and is set again: cheaper than twice in every call
            if due_at_s is not None and self._rings_at_s <= due_at_s:
                return
            self._timer.cancel()
            self._timer = None
        if due_at_s is not None:
            self._rings_at_s = due_at_s
            self._timer = self._loop.call_later(max(0.0, due_at_s - now_s), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._turn()

    def _settle(self, answer: BoardAnswer) -> None:
        pending = self._pending.get(answer.request_id)
        if pending is None or pending.outcome.done():
            self.session.counters.answers_late += 1
        else:
            pending.outcome.set_result(answer)

    def _fail_pending(self) -> None:
        reason = configured(self.session.reason)
        for pending in self._pending.values():
            if pending.outcome.done():
                continue
            if pending.frame.was_sent:
                said = own("the connection was lost before the answer came: {}", reason)
                pending.outcome.set_result(OutcomeUnknown(said))
            else:
                pending.outcome.set_result(LinkLost(reason))


def _result_of(answer: BoardAnswer) -> bytes:
    if answer.code == OK:
        return answer.payload
    name = CODES[answer.code] if answer.code < len(CODES) else f"code_{answer.code}"
    raise CallRefused(
        name, printable_line(answer.payload.decode(errors="replace"), MAX_DETAIL_CHARS)
    )
