# Outputs, and the only place that drives a pin.
#
# Every output has a logical value (1 is on, whatever level that takes), a safe value and a lease.
# It stays away from its safe value only while the Pi renews the lease, or for the fixed time of a
# reflex; when that ends, on ESTOP and on a fault of the loop it is driven to its safe value, and
# what the Pi holds also when a session starts.
# Nothing that arrives can make a lease longer than the longest one.

from time import ticks_add, ticks_diff

# A board file may ask for less, never for more
LEASE_LONGEST_MS = 10_000
LEASE_DEFAULT_MS = 2_000


class Output:
    # One pin that can be driven. `floating` ones are left as inputs until they are first written,
    # because something else may be driving that wire.

    def __init__(self, pin, active_low, safe, lease_ms, floating):
        self._pin = pin
        self._inverted = 1 if active_low else 0
        self._driven = False
        self.safe = safe
        self.lease_ms = min(lease_ms, LEASE_LONGEST_MS)
        self.ends_ms = 0
        if not floating:
            self.drive(safe)

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

    def read(self):
        # From the pin, not from memory: a shorted output must show
        return self._pin.value() ^ self._inverted


class Outputs:
    # All outputs of a board, by the index of the pin; None stands for a pin that is no output.

    def __init__(self, outputs):
        self._outputs = outputs
        # Bit n: the Pi holds pin n, by a lease that it renews
        self.leased = 0
        # Bit n: a reflex of the board holds pin n, for a time that nobody renews
        self.reflexed = 0
        # After ESTOP nothing may be switched until a new session
        self.stopped = False

    def find(self, index):
        return self._outputs[index] if index < len(self._outputs) else None

    @property
    def held(self):
        return self.leased | self.reflexed

    def write(self, index, value, now_ms):
        # The Pi's word, which takes over what a reflex holds
        output = self._outputs[index]
        bit = 1 << index
        self.reflexed &= ~bit
        if value == output.safe:
            self.leased &= ~bit
        else:
            # Before the pin moves: whatever goes wrong after this, the lease ends
            output.ends_ms = ticks_add(now_ms, output.lease_ms)
            self.leased |= bit
        output.drive(value)
        return output.read()

    def write_reflex(self, index, value, duration_ms, now_ms):
        # A reflex's word: it may end what anybody holds, but not prolong or change it. Returns
        # whether that was done.
        output = self._outputs[index]
        bit = 1 << index
        if value == output.safe:
            self.leased &= ~bit
            self.reflexed &= ~bit
        elif self.held & bit:
            return False
        else:
            output.ends_ms = ticks_add(now_ms, min(duration_ms, LEASE_LONGEST_MS))
            self.reflexed |= bit
        output.drive(value)
        return True

    def renew(self, mask, now_ms):
        for index in range(len(self._outputs)):
            if mask & self.leased & (1 << index):
                output = self._outputs[index]
                output.ends_ms = ticks_add(now_ms, output.lease_ms)
        return self.leased

    def make_safe(self):
        self.leased = 0
        self.reflexed = 0
        for output in self._outputs:
            if output is not None:
                output.make_safe()

    def release(self):
        # Everything safe but what a reflex holds, which ends by itself and needs no Pi
        self.leased = 0
        for index in range(len(self._outputs)):
            output = self._outputs[index]
            if output is not None and not self.reflexed & (1 << index):
                output.make_safe()

    def stop(self):
        self.stopped = True
        self.make_safe()

    def begin_session(self):
        self.release()
        self.stopped = False

    def tick(self, now_ms):
        # Called in every pass of the main loop; every rule about time belongs here
        held = self.leased | self.reflexed
        if not held:
            return
        for index in range(len(self._outputs)):
            bit = 1 << index
            if held & bit:
                output = self._outputs[index]
                if ticks_diff(now_ms, output.ends_ms) >= 0:
                    self.leased &= ~bit
                    self.reflexed &= ~bit
                    output.make_safe()
