"""Retransmission timing: RFC 6298, with the bounds of a serial line."""

# Two frames of 256 bytes at 115200 baud take 45 ms, a short request and its answer 5 ms
RTO_MIN_S = 0.03
# Longer than this, and a person is waiting for a board that is not there
RTO_MAX_S = 1.0
# Before anything was measured: MicroPython may be collecting garbage or flushing a file
RTO_INITIAL_S = 0.2
# A frame is sent once and then this many times again; after that the session is dead
MAX_RETRIES = 6

_SMOOTHING = 1 / 8
_VARIATION = 1 / 4


class RetransmissionTimer:
    """The retransmission timeout, learned from round trips of frames that were sent once."""

    def __init__(self) -> None:
        self.rto_s = RTO_INITIAL_S
        self._smoothed_s: float | None = None
        self._variation_s = 0.0

    def sample(self, round_trip_s: float) -> None:
        """Learn from a round trip; also ends any back-off."""
        if self._smoothed_s is None:
            self._smoothed_s = round_trip_s
            self._variation_s = round_trip_s / 2
        else:
            deviation_s = abs(self._smoothed_s - round_trip_s)
            self._variation_s += _VARIATION * (deviation_s - self._variation_s)
            self._smoothed_s += _SMOOTHING * (round_trip_s - self._smoothed_s)
        wanted_s = self._smoothed_s + 4 * self._variation_s
        self.rto_s = min(RTO_MAX_S, max(RTO_MIN_S, wanted_s))

    def back_off(self) -> None:
        """Double the timeout: the line may only be slow."""
        self.rto_s = min(RTO_MAX_S, 2 * self.rto_s)
