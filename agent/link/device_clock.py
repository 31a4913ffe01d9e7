"""The board's clock against ours: device milliseconds become times of our monotonic clock.

Learned from answered pings. Only the quickest answer of each short while counts, because what is
slow was held up somewhere; a straight line through those gives offset and drift.
"""

from collections import deque
from dataclasses import dataclass

# One sample is kept for each such while: the quickest
WHILE_S = 2.0
# Two minutes: longer than it takes to tell a drift, shorter than a crystal needs to warm up
KEPT_WHILES = 60
# Over less than this a drift would be made of jitter
MIN_SPAN_S = 10.0
# A crystal is off by 100 ppm and an RC oscillator by 1 %: more is a mistake of ours
MAX_DRIFT = 0.02
_CLOCK_PERIOD_MS = 2**32


@dataclass(frozen=True, slots=True)
class _Sample:
    """A moment on both clocks, and how long the answer that told it took."""

    device_s: float
    ours_s: float
    round_trip_s: float


class DeviceClock:
    """The clock of one board in one session."""

    def __init__(self) -> None:
        self._kept: deque[_Sample] = deque(maxlen=KEPT_WHILES)
        self._latest_ms: int | None = None
        # Our time is `_ours_s` at `_device_s`, and goes on by `_rate` in a second of the board's
        self._device_s = 0.0
        self._ours_s = 0.0
        self._rate = 1.0

    @property
    def is_set(self) -> bool:
        return bool(self._kept)

    @property
    def offset_s(self) -> float:
        """Our monotonic time when the board's clock began."""
        return self._ours_s - self._device_s * self._rate

    @property
    def drift_ppm(self) -> float:
        """By how much the board's clock is slow (below 0: fast)."""
        return (self._rate - 1.0) * 1e6

    def note(self, sent_s: float, received_s: float, device_ms: int) -> None:
        """A ping that was sent and answered at these times of ours, and what the board's was."""
        device_s = self._unwrapped_ms(device_ms) / 1000
        sample = _Sample(device_s, (sent_s + received_s) / 2, received_s - sent_s)
        last = self._kept[-1] if self._kept else None
        if last is None or sample.ours_s // WHILE_S != last.ours_s // WHILE_S:
            self._kept.append(sample)
        elif sample.round_trip_s < last.round_trip_s:
            self._kept[-1] = sample
        self._fit()

    def ours_s(self, device_ms: int) -> float:
        """The time on our monotonic clock when the board's showed `device_ms`."""
        device_s = self._unwrapped_ms(device_ms) / 1000
        return self._ours_s + (device_s - self._device_s) * self._rate

    def _unwrapped_ms(self, device_ms: int) -> int:
        """Return the time without the 32-bit overflow every 49 days."""
        if self._latest_ms is None:
            self._latest_ms = device_ms
        half = _CLOCK_PERIOD_MS // 2
        ahead_ms = (device_ms - self._latest_ms + half) % _CLOCK_PERIOD_MS - half
        unwrapped_ms = self._latest_ms + ahead_ms
        self._latest_ms = max(self._latest_ms, unwrapped_ms)
        return unwrapped_ms

    def _fit(self) -> None:
        quickest_s = min(sample.round_trip_s for sample in self._kept)
        good = [sample for sample in self._kept if sample.round_trip_s <= 2 * quickest_s]
        self._device_s = sum(sample.device_s for sample in good) / len(good)
        self._ours_s = sum(sample.ours_s for sample in good) / len(good)
        first, last = good[0], good[-1]
        # On both clocks: a board may well say that its own stands still
        if min(last.ours_s - first.ours_s, last.device_s - first.device_s) < MIN_SPAN_S:
            self._rate = 1.0
            return
        apart = [(one.device_s - self._device_s, one.ours_s - self._ours_s) for one in good]
        rate = sum(x * y for x, y in apart) / sum(x * x for x, _ in apart)
        self._rate = min(1 + MAX_DRIFT, max(1 - MAX_DRIFT, rate))
