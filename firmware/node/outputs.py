# Outputs, and the only place that drives a pin.
#
# Every output has a logical value (1 is on, whatever level that takes), a safe value, a lease and
# limits. It stays away from its safe value only while the Pi renews the lease, or for the fixed
# time of a reflex, and while no limit ends it. When that ends, on ESTOP and on a fault it is driven
# to its safe value, and what the Pi holds also when a session starts and when the link is silent.
# Nothing that arrives can make a lease longer than the longest one or lift a limit.

from time import ticks_add, ticks_diff, ticks_ms

import frame
from node.calls import Refusal
from node.limits import FREE, limits_of

# A board file or a configuration may ask for less, never for more
LEASE_LONGEST_MS = 10_000
LEASE_DEFAULT_MS = 2_000
# By the reason of the lock
_STOPPED = ("", "an emergency stop", "a watchdog reset", "a fault of the firmware")


class Output:
    # One pin that can be driven, or a device in the shape of one: OUT, init(mode, value=),
    # value(level) and value(). `options` are those of a board file's row or of an entry.
    # `floating` ones are left as inputs until they are first written, because something else may
    # be driving that wire. A device brings its own safe value and inverts by itself.

    # In the class, where what is usual takes no memory of every output. What an interrupt writes is
    # not here: there nothing may be added to an output.
    lease_ms = LEASE_DEFAULT_MS
    # A device that cannot be driven from an interrupt says so
    _trips = True
    # What must be so while it is on: (reading, value, name), where reading() gives a value
    needs = ()  # type: tuple
    limits = FREE
    safe = _safe_level = _inverted = 0
    # Set when it is first driven, which no interrupt does
    _driven = False

    def __init__(self, pin, options, now_ms, safe=None, needs=()):
        self.name = options.get("name", "")
        self._pin = pin
        if safe is None and options.get("active_low", False):
            self._inverted = 1
        safe = options.get("safe", 0) if safe is None else safe
        if safe:
            self.safe = safe
        if safe ^ self._inverted:
            self._safe_level = safe ^ self._inverted
        if "lease_ms" in options:
            self.lease_ms = min(options["lease_ms"], LEASE_LONGEST_MS)
        self.ends_ms = 0
        limits = limits_of(options, now_ms)
        if limits is not FREE:
            self.limits = limits
        if needs:
            self.needs = needs
        if not getattr(pin, "TRIPS", True):
            self._trips = False
        # Whether an interrupt has made it safe, and the loop has yet to note it
        self.tripped = False
        if not options.get("floating", False):
            self.drive(self.safe)

    @property
    def is_driven(self):
        return self._driven

    def drive(self, value):
        level = value ^ self._inverted
        if self._driven:
            self._pin.value(level)
        else:
            self._driven = True
            # The level is set before the mode, so that the pin does not glitch
            self._pin.init(self._pin.OUT, value=level)

    def make_safe(self):
        if self._driven:
            self.drive(self.safe)

    def trip(self):
        # In a hard interrupt: integers only, nothing may allocate
        self.tripped = True
        if self._driven and self._trips:
            try:
                self._pin.value(self._safe_level)
            except Exception:
                # Nothing above an interrupt could act on it; `tripped` has the loop drive it again
                pass

    def read(self):
        # From the pin, not from memory: a shorted output must show
        return self._pin.value() ^ self._inverted

    def unmet(self):
        # The first thing it needs and does not have, None when it has all
        for need in self.needs:
            if not _is_so(need):
                return need
        return None


class Outputs:
    # All outputs of a board, by the index of the pin; None stands for a pin that is no output.

    def __init__(self, table=()):
        self._table = table
        # Bit n: the Pi holds pin n, by a lease that it renews
        self.leased = 0
        # Bit n: a reflex of the board holds pin n, for a time that nobody renews
        self.reflexed = 0
        # Why the last word of a reflex was refused: an answer code
        self.refusal = frame.OK
        # Why nothing may be switched: a reason of the wire format
        self.reason = frame.REASON_NONE
        # Whether any output is tripped
        self._tripped = False

    @property
    def stopped(self):
        return self.reason != frame.REASON_NONE

    @property
    def held(self):
        return self.leased | self.reflexed

    def find(self, index):
        return self._table[index] if index < len(self._table) else None

    def replace(self, table):
        # Other pins are there from now on
        self.make_safe()
        self._table = table

    def write(self, index, value, now_ms):
        # The Pi's word, which takes over what a reflex holds; returns what the pin reads after it
        self._change(index, value, now_ms, 0)
        return self._table[index].read()

    def write_reflex(self, index, value, duration_ms, now_ms):
        # A reflex's word: it may end what anybody holds, but not prolong or change it, and every
        # limit holds for it. Without a longest on-time the longest lease is the longest.
        # Returns whether that was done.
        output = self.find(index)
        if output is None or (value != output.safe and self.held & (1 << index)):
            self.refusal = frame.BUSY_CODE
            return False
        longest_ms = output.limits.max_on_ms or LEASE_LONGEST_MS
        try:
            self._change(index, value, now_ms, max(1, min(duration_ms, longest_ms)))
        except Refusal as refusal:
            self.refusal = refusal.code
            return False
        return True

    def renew(self, mask, now_ms):
        # What has been made safe is not told to be held
        self._settle(now_ms)
        for index in range(len(self._table)):
            if mask & self.leased & (1 << index):
                output = self._table[index]
                output.ends_ms = ticks_add(now_ms, output.lease_ms)
        return self.leased

    def make_safe(self):
        # Even where one of them fails the others are made safe
        self._release(-1, ticks_ms())

    def release(self):
        # Everything safe but what a reflex holds, which ends by itself and needs no Pi
        self._release(~self.reflexed, ticks_ms())

    def lock(self, reason):
        # Until `clear`; an emergency stop outranks what was before it
        if reason == frame.REASON_ESTOP or not self.reason:
            self.reason = reason
        self.make_safe()

    def clear(self, reason):
        if self.reason and reason != self.reason:
            raise Refusal(frame.OUT_OF_RANGE, "it was " + _STOPPED[self.reason])
        self.reason = frame.REASON_NONE

    def tick(self, now_ms):
        # Called in every pass of the main loop; every rule about time belongs here
        self._settle(now_ms)
        held = self.held
        ended = 0
        for index in range(len(self._table)):
            output = self._table[index]
            if output is not None:
                if held & (1 << index) and _must_end(output, now_ms):
                    ended |= 1 << index
                output.limits.tick(now_ms)
        if ended:
            self._release(ended, now_ms)

    def trip(self, mask):
        # In a hard interrupt: integers only, nothing may allocate. The loop notes the rest, and is
        # told last: where it runs meanwhile, as in the simulator, it would note only some of them.
        for index in range(len(self._table)):
            if mask & (1 << index) and self._table[index] is not None:
                self._table[index].trip()
        self._tripped = True

    def _writable(self, index):
        output = self.find(index)
        if output is None:
            raise Refusal(frame.BAD_PIN, "that pin is not an output")
        if self.reason:
            raise Refusal(frame.UNSAFE_STATE, "stopped by " + _STOPPED[self.reason])
        return output

    def _change(self, index, value, now_ms, duration_ms):
        # For the time of a reflex; 0 is the lease of the Pi
        output = self._writable(index)
        self._settle(now_ms)
        bit = 1 << index
        was_on = self.held & bit
        if value == output.safe:
            self._release(bit, now_ms)
            if not output.is_driven:
                output.drive(value)  # from here on it is not left alone any more
            return
        self._judge(output, was_on, now_ms)
        # Before the pin moves: whatever goes wrong after this, it ends
        output.ends_ms = ticks_add(now_ms, duration_ms or output.lease_ms)
        if duration_ms:
            self.reflexed |= bit
        else:
            self.leased |= bit
            self.reflexed &= ~bit
        if not was_on:
            output.limits.note_on(now_ms)
        output.drive(value)
        if output.tripped:
            # The interrupt came first: its word counts
            self._settle(now_ms)
            raise Refusal(frame.UNSAFE_STATE, "the link has been silent")

    def _settle(self, now_ms):
        # What an interrupt has done becomes known to the loop. Each mark is taken away before it
        # is acted upon: an interrupt at any moment between is noted now or the next time.
        if not self._tripped:
            return
        self._tripped = False
        tripped = 0
        for index in range(len(self._table)):
            output = self._table[index]
            if output is not None and output.tripped:
                output.tripped = False
                tripped |= 1 << index
        self._release(tripped, now_ms)

    def _judge(self, output, was_on, now_ms):
        unmet = output.unmet()
        if unmet is not None:
            text = "%s needs %s %s" % (output.name, unmet[2], "on" if unmet[1] else "off")
            raise Refusal(frame.INTERLOCK, text)
        text = "" if was_on else output.limits.refusal(now_ms)
        if text:
            raise Refusal(frame.BUSY_CODE, "%s %s" % (output.name, text))

    def _release(self, mask, now_ms):
        fault = None
        held = self.held
        for index in range(len(self._table)):
            output = self._table[index]
            bit = 1 << index
            if output is not None and mask & bit:
                if held & bit:
                    output.limits.note_off(now_ms)
                try:
                    output.make_safe()
                except Exception as err:  # the others come first, the fault after them
                    fault = err
                    if held & bit:
                        # On, perhaps: held for no time, so that every pass tries again
                        output.ends_ms = now_ms
                        self.reflexed |= bit
                else:
                    self.reflexed &= ~bit
                # Only now: as long as it is on somebody holds it
                self.leased &= ~bit
        if fault is not None:
            raise fault


def _is_so(need):
    try:
        return need[0]() == need[1]
    except Exception:  # what cannot be read is not so
        return False


def _must_end(output, now_ms):
    if ticks_diff(now_ms, output.ends_ms) >= 0:
        return True
    return output.limits.is_over(now_ms) or output.unmet() is not None
