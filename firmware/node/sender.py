# Our sequenced frames until they are acknowledged: go-back-N with the timing of RFC 6298.

from time import ticks_diff

from micropython import const

# Frames in flight; a power of two, so that a sequence finds its entry by its low bits
_WINDOW = const(8)
_WINDOW_MASK = const(7)
# Before the first round trip was measured: four of 250 bytes each way at 115200 baud
_RTO_FIRST_MS = const(200)
_RTO_LEAST_MS = const(30)
_RTO_MOST_MS = const(1_000)
# After this many repetitions nobody is listening
_REPETITIONS = const(6)
# Header, CRC, COBS and delimiters
_OVERHEAD_BYTES = const(11)
# One round of repeating per NAK that a burst of damage causes
_GO_BACK_LEAST_MS = const(20)


class Sender:
    def __init__(self):
        self._slots = [0] * _WINDOW
        self._sizes = [0] * _WINDOW
        self._sent_ms = [0] * _WINDOW
        self._tries = [0] * _WINDOW
        self.reset()

    def reset(self):
        # The oldest sequence that was not acknowledged, and how many frames follow from there:
        # queued, sent since the last time we went back, and sent ever
        self._base = 0
        self._queued = 0
        self._sent = 0
        self._reached = 0
        self._went_back_ms = 0
        self._srtt_x8 = 0
        self._rttvar_x4 = 0
        self._rto_ms = _RTO_FIRST_MS
        self.dead = False
        # What the other side can take, from the header of its last frame
        self.credit_bytes = 0

    @property
    def has_room(self):
        return self._queued < _WINDOW

    def is_busy(self, slot):
        for offset in range(self._queued):
            if self._slots[(self._base + offset) & _WINDOW_MASK] == slot:
                return True
        return False

    def queue(self, slot, size):
        entry = (self._base + self._queued) & _WINDOW_MASK
        self._slots[entry] = slot
        self._sizes[entry] = size + _OVERHEAD_BYTES
        self._tries[entry] = 0
        self._queued += 1

    def next_slot(self):
        # The slot to send now, or -1. With nothing in flight one frame may go whatever the credit
        # says, or a lost credit would end the conversation.
        if self._sent >= self._queued:
            return -1
        entry = (self._base + self._sent) & _WINDOW_MASK
        if self._sent and self._in_flight_bytes() + self._sizes[entry] > self.credit_bytes:
            return -1
        return self._slots[entry]

    def mark_sent(self, now_ms):
        # Returns the sequence that the frame of `next_slot` bears
        sequence = (self._base + self._sent) & 0xFF
        entry = sequence & _WINDOW_MASK
        self._sent_ms[entry] = now_ms
        self._tries[entry] += 1
        self._sent += 1
        self._reached = max(self._reached, self._sent)
        return sequence

    def acknowledge(self, ack, now_ms):
        count = (ack - self._base) & 0xFF
        if count == 0 or count > self._reached:
            return
        entry = (ack - 1) & _WINDOW_MASK
        if self._tries[entry] == 1:
            # Karn: only a frame that was sent once tells the time
            self._measure(ticks_diff(now_ms, self._sent_ms[entry]))
        self._base = ack
        self._queued -= count
        self._reached -= count
        self._sent = max(0, self._sent - count)

    def go_back(self, now_ms):
        # Not a plain comparison: after days without one the difference is negative
        if not 0 <= ticks_diff(now_ms, self._went_back_ms) < _GO_BACK_LEAST_MS:
            self._went_back_ms = now_ms
            self._sent = 0

    def tick(self, now_ms):
        if not self._sent:
            return
        entry = self._base & _WINDOW_MASK
        if ticks_diff(now_ms, self._sent_ms[entry]) < self._rto_ms:
            return
        if self._tries[entry] > _REPETITIONS:
            self.dead = True
            return
        self._rto_ms = min(_RTO_MOST_MS, self._rto_ms * 2)
        self._went_back_ms = now_ms
        self._sent = 0

    def _in_flight_bytes(self):
        total = 0
        for offset in range(self._sent):
            total += self._sizes[(self._base + offset) & _WINDOW_MASK]
        return total

    def _measure(self, rtt_ms):
        if self._srtt_x8:
            error = rtt_ms - (self._srtt_x8 >> 3)
            self._srtt_x8 += error
            self._rttvar_x4 += abs(error) - (self._rttvar_x4 >> 2)
        else:
            self._srtt_x8 = rtt_ms << 3
            self._rttvar_x4 = rtt_ms << 1
        rto_ms = (self._srtt_x8 >> 3) + self._rttvar_x4
        self._rto_ms = min(_RTO_MOST_MS, max(_RTO_LEAST_MS, rto_ms))
