# Tells what the Pi has subscribed to, within the credits it was given; loaded with the first
# subscription.
#
# Interrupts write into a ring that is drained in every pass; what has no interrupt is read in every
# pass. Nothing here waits: what the Pi does not take is dropped, counted, and told with the next.

import struct
from time import ticks_ms

import frame
from micropython import const
from node.calls import Refusal, need
from node.events import EVENT_BYTES, FRAMES
from node.ring import Ring
from node.subscription import QUEUE_LONGEST, Subscription

_SUBSCRIBE_BYTES = const(15)
_PART_SHIFT = const(4)
_MODE_MASK = const(0x0F)
_CREDITS_MOST = const(255)
_MODES = (frame.SUBSCRIBE_CHANGE, frame.SUBSCRIBE_PERIODIC, frame.SUBSCRIBE_THRESHOLD)


class Announcer:
    # `features` are asked for values: one that can has sample(index, part), which gives the number
    # that its read method would give, or None when that pin is not its own.

    def __init__(self, pins, system, features):
        self._pins = pins
        self._system = system
        self._samplers = tuple(one for one in features if hasattr(one, "sample"))
        self._ring = Ring()
        self._active = []
        self._frames = [bytearray(EVENT_BYTES) for _ in range(FRAMES)]

    def end_all(self):
        while self._active:
            self._end(self._active[-1])

    def tick(self, now_ms):
        if not self._active:
            return
        ring = self._ring
        while ring.take():
            for one in self._active:
                if one.mode == frame.SUBSCRIBE_CHANGE and one.index == ring.index:
                    one.look(self._pins.logical(ring.index, ring.level), ring.at_ms)
        for one in self._active:
            if one.edges is not None:
                self._note_lost(one)
            try:
                value = self._sample(one.index, one.part)
            except Exception:  # a sensor that fails has nothing to tell, and stops nobody else
                value = None
            if value is not None:
                one.look(value, now_ms)

    # What the session asks

    @property
    def is_ready(self):
        for one in self._active:  # noqa: SIM110  - a generator takes memory in every pass
            if one.is_ready:
                return True
        return False

    def pack(self, slot):
        # Writes the next event that may go into that frame, and spends its credit
        for _ in range(len(self._active)):
            # Each in its turn, so that a busy one does not silence the others
            one = self._active.pop(0)
            self._active.append(one)
            if one.is_ready:
                struct.pack_into(
                    frame.EVENT_FORMAT,
                    self._frames[slot],
                    0,
                    one.number,
                    one.event_number,
                    one.dropped,
                    self._system.uptime_ms(one.at_ms),
                    one.value,
                )
                one.pop()
                return True
        return False

    def payload(self, slot):
        return self._frames[slot]

    def subscribe(self, arguments):
        need(arguments, _SUBSCRIBE_BYTES)
        number, index, mode, least_ms, low, high, queue, credit = struct.unpack_from(
            frame.SUBSCRIBE_FORMAT, arguments, 0
        )
        part = mode >> _PART_SHIFT
        mode &= _MODE_MASK
        if number >= frame.SUBSCRIPTIONS_MOST or queue > QUEUE_LONGEST or low > high:
            raise Refusal(frame.OUT_OF_RANGE, "no such subscription, queue or limits")
        if mode not in _MODES:
            raise Refusal(frame.OUT_OF_RANGE, "change, periodic or threshold")
        value = self._sample(index, part)
        if value is None:
            raise Refusal(frame.BAD_PIN, "that pin has no value to tell")
        self._forget(number)
        if not self._active:
            # What was left there may be of pins that are wired otherwise now
            self._ring.clear()
        one = Subscription(number, index, part, mode)
        one.low, one.high, one.least_ms, one.credits = low, high, least_ms, credit
        one.begin(queue, value, ticks_ms())
        if mode == frame.SUBSCRIBE_CHANGE:
            one.edges = self._pins.watch(index, self._ring)
        self._active.append(one)
        return 0

    def unsubscribe(self, arguments):
        need(arguments, 1)
        self._forget(arguments[0])
        return 0

    def credit(self, arguments):
        need(arguments, 2)
        for one in self._active:
            if one.number == arguments[0]:
                one.credits = min(_CREDITS_MOST, one.credits + arguments[1])
                return 0
        raise Refusal(frame.OUT_OF_RANGE, "no such subscription")

    def _forget(self, number):
        for one in self._active:
            if one.number == number:
                self._end(one)
                return

    def _end(self, ended):
        self._active.remove(ended)
        if ended.edges is None:
            return
        for one in self._active:
            if one.index == ended.index and one.edges is not None:
                return  # the pin is still listened to
        self._pins.unwatch(ended.index)

    def _note_lost(self, one):
        count = self._ring.lost[one.index]
        if count:
            self._ring.lost[one.index] = 0
            for other in self._active:
                if other.index == one.index and other.mode == frame.SUBSCRIBE_CHANGE:
                    other.note_lost(count)

    def _sample(self, index, part):
        for sampler in self._samplers:
            value = sampler.sample(index, part)
            if value is not None:
                return value
        return None
