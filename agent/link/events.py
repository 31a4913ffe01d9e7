"""Events of a board: subscriptions that outlive its connections.

Promises: an event is acknowledged only when its subscriber's queue has it; what was lost is told
once, with the next event; a subscriber that is slow costs only its own events. Must not wait for
the board but in `serve`.
"""

import asyncio
import enum
import logging
import math
import struct
from collections import deque
from typing import Protocol

from msgspec import Struct

from agent.errors import LinkError, LinkLost, OutcomeUnknown
from agent.link import frame as wire
from agent.link.base import Value
from agent.link.connection import BoardConnection
from agent.link.manifest import Manifest, Method
from agent.link.readings import BoardReading, UnknownName, find_reading
from agent.link.session import Request
from agent.link.value_codec import BadAnswer, unpack
from agent.system.clock import Clock

# The board takes a subscription in one pass of its loop
DEADLINE_MS = 1_000
# A sensor that has no value yet, or is pulled out, refuses; by then it may have one
RETRY_S = 10.0
# Events that may wait for a subscriber here; as many again wait on the board
CREDITS = 8
# Given back together: a frame for each event would double the traffic
CREDITS_AT_ONCE = 4
_PART_SHIFT = 4
_WIRE_LIMIT = 2**31 - 1
# A limit that is so near to a step of the board, in steps, is that step: floats have few digits
_ROUNDING = 1e-5

_log = logging.getLogger(__name__)


class EventCondition(enum.Enum):
    """Condition for an event."""

    # Another value, or one that is `low` away from the last
    CHANGE = wire.SUBSCRIBE_CHANGE
    # Every least interval
    PERIODIC = wire.SUBSCRIBE_PERIODIC
    # `high` or more after `low` or less, and the other way round
    THRESHOLD = wire.SUBSCRIBE_THRESHOLD


class Watch(Struct, frozen=True):
    """Subscription to a reading or input.

    Args:
        source: a reading by its name: a pin, `climate.humidity`, or `mcu_temperature`.
        low, high: in the unit of the value.
        queue: events that wait on the board, up to 8; with 0 only the latest counts.
    """

    source: str
    when: EventCondition = EventCondition.CHANGE
    least_interval_ms: int = 0
    low: float = 0.0
    high: float = 0.0
    queue: int = 8


class BoardEvent(Struct, frozen=True):
    """Event of a board.

    Args:
        at_s: when it happened, since the epoch.
        monotonic_s: the same on our own clock.
        dropped: how many before it were lost.
    """

    source: str
    value: Value
    unit: str
    at_s: float
    monotonic_s: float
    number: int
    dropped: int


class BoardSubscription:
    """Events of one watch, over every connection, until it is closed: `async for event in ...`."""

    def __init__(self, watch: Watch, due: asyncio.Event) -> None:
        self.watch = watch
        # Why the board tells nothing; empty while it does
        self.trouble = "the board is not connected"
        self.is_closed = False
        # Taken here and not yet given back to the board as credit
        self.taken = 0
        self._due = due
        self._waiting: deque[BoardEvent] = deque(maxlen=CREDITS)
        self._arrived = asyncio.Event()

    def __aiter__(self) -> "BoardSubscription":
        return self

    async def __anext__(self) -> BoardEvent:
        while not self._waiting:
            if self.is_closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        self.taken += 1
        if self.taken >= CREDITS_AT_ONCE:
            self._due.set()
        return self._waiting.popleft()

    @property
    def room(self) -> int:
        """Events that the board may send before any more is taken."""
        return CREDITS - len(self._waiting)

    def put(self, event: BoardEvent) -> None:
        """From the board; it has credit for no more than fits."""
        self._waiting.append(event)
        self._arrived.set()

    def close(self) -> None:
        self.is_closed = True
        self._arrived.set()
        self._due.set()


class EventSource(Protocol):
    """A board that can be listened to."""

    @property
    def manifest(self) -> Manifest | None: ...

    def subscribe(self, watch: Watch) -> BoardSubscription:
        """Events of that watch, from now on, whenever the board is there."""


class Subscriptions:
    """Every subscription of one board."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due = asyncio.Event()
        self._open: list[BoardSubscription] = []
        # By their number on the board: those that it knows in this session
        self._told: dict[int, tuple[BoardSubscription, BoardReading]] = {}
        self._refused: list[BoardSubscription] = []
        self._retry_at_s = 0.0

    def open(self, watch: Watch) -> BoardSubscription:
        subscription = BoardSubscription(watch, self._due)
        self._open.append(subscription)
        self._due.set()
        return subscription

    async def serve(self, connection: BoardConnection, manifest: Manifest) -> None:
        """Tell the board what is wanted, and give back credit; until cancelled."""
        self._told.clear()
        self._refused.clear()
        connection.on_event = lambda payload: self._deliver(payload, connection, manifest)
        try:
            while True:
                self._due.clear()
                await self._catch_up(connection, manifest)
                await self._wait()
        finally:
            for subscription in self._open:
                subscription.trouble = "the board is not connected"

    async def _wait(self) -> None:
        """Wait until there is something to tell; what was refused is asked for again."""
        try:
            async with asyncio.timeout_at(self._retry_at_s if self._refused else None):
                await self._due.wait()
        except TimeoutError:
            self._refused.clear()

    async def _catch_up(self, connection: BoardConnection, manifest: Manifest) -> None:
        self._open = [one for one in self._open if not one.is_closed]
        for number, (subscription, _) in list(self._told.items()):
            if subscription.is_closed:
                await _tell(connection, wire.METHOD_UNSUBSCRIBE, bytes([number]))
                # Only now: what was on its way belonged to the old one
                del self._told[number]
            elif subscription.taken >= CREDITS_AT_ONCE:
                given, subscription.taken = subscription.taken, 0
                credit = struct.pack(wire.CREDIT_FORMAT, number, given)
                await _tell(connection, wire.METHOD_CREDIT, credit)
        known = [subscription for subscription, _ in self._told.values()]
        for subscription in self._open:
            if subscription not in known and subscription not in self._refused:
                before = subscription.trouble
                subscription.trouble = await self._subscribe(connection, manifest, subscription)
                if subscription.trouble:
                    self._refuse(subscription, before)

    def _refuse(self, subscription: BoardSubscription, before: str) -> None:
        if not self._refused:
            self._retry_at_s = asyncio.get_running_loop().time() + RETRY_S
        self._refused.append(subscription)
        if subscription.trouble != before:
            _log.warning("link: subscription failed (error=%s)", subscription.trouble)

    async def _subscribe(
        self, connection: BoardConnection, manifest: Manifest, subscription: BoardSubscription
    ) -> str:
        free = [one for one in range(wire.SUBSCRIPTIONS_MOST) if one not in self._told]
        if not free:
            return "the board accepts no more subscriptions"
        try:
            reading = find_reading(manifest, subscription.watch.source)
        except UnknownName as err:
            return str(err)
        subscription.taken = 0
        # Before it is told: the first event may come before the answer
        self._told[free[0]] = (subscription, reading)
        arguments = _packed(free[0], subscription, reading)
        trouble = await _tell(connection, wire.METHOD_SUBSCRIBE, arguments)
        if trouble:
            del self._told[free[0]]
        return trouble

    def _deliver(self, payload: bytes, connection: BoardConnection, manifest: Manifest) -> None:
        try:
            number, count, dropped, device_ms, raw = struct.unpack_from(wire.EVENT_FORMAT, payload)
            subscription, reading = self._told[number]
            value = value_of(manifest, reading, raw)
        except (struct.error, KeyError, BadAnswer):
            connection.session.counters.frames_ignored += 1
            return
        now_s = self._clock.monotonic_s()
        clock = connection.session.device_clock
        # What the board tells has happened already, whatever its clock says
        at_s = min(now_s, clock.ours_s(device_ms)) if clock.is_set else now_s
        wall_s = self._clock.wall_s() - (now_s - at_s)
        unit = reading.field.unit
        subscription.put(BoardEvent(reading.name, value, unit, wall_s, at_s, count, dropped))
        if dropped:
            _log.warning("link: events lost (count=%d, reading=%s)", dropped, reading.name)


def _packed(number: int, subscription: BoardSubscription, reading: BoardReading) -> bytes:
    watch = subscription.watch
    low, high = limits_on_wire(watch, reading)
    return struct.pack(
        wire.SUBSCRIBE_FORMAT,
        number,
        reading.index,
        watch.when.value | reading.part << _PART_SHIFT,
        min(watch.least_interval_ms, 2**16 - 1),
        low,
        high,
        watch.queue,
        subscription.room,
    )


def limits_on_wire(watch: Watch, reading: BoardReading) -> tuple[int, int]:
    """Return the lower and the upper limit in the board's numbers.

    Between two steps the lower limit goes down and the upper one up: what the board then calls
    beyond is beyond here too, and two limits that differ never become one.
    """
    low, high = watch.low / reading.field.scale, watch.high / reading.field.scale
    if watch.when is EventCondition.THRESHOLD:
        low, high = math.floor(low + _ROUNDING), math.ceil(high - _ROUNDING)
    return _on_wire(low), _on_wire(high)


def _on_wire(steps: float) -> int:
    return max(-_WIRE_LIMIT, min(_WIRE_LIMIT, round(steps)))


def value_of(manifest: Manifest, reading: BoardReading, raw: int) -> Value:
    """Return the value that the read method would return."""
    told = Method(0, "told", "", result=(reading.field,))
    return unpack(manifest, told, struct.pack("<" + reading.field.format, raw))[reading.field.name]


async def _tell(connection: BoardConnection, method: int, arguments: bytes) -> str:
    """Send a request until the board has it; return why it failed, or ""."""
    # Urgent: one at a time piles up nothing, and the board would never hear of one refused here
    request = Request(method, arguments, DEADLINE_MS, urgent=True)
    while not connection.session.is_over:
        try:
            await connection.call(request)
        except LinkLost:
            # Not sent, because the board is busy
            continue
        except OutcomeUnknown:
            # Sent: the board does it once it listens. Only credit counts twice, if told twice
            if method != wire.METHOD_CREDIT:
                continue
        except LinkError as err:
            return str(err)
        return ""
    return "the board is not connected"
