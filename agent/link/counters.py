"""Counters and clock of a session with a board, for people and for tests.

The clock turns device milliseconds into times of our monotonic clock. It learns from answered
pings: the quickest answer of each short while counts, and a line through those gives offset and
drift.
"""

from collections import deque

from msgspec import Struct, field

# One sample is kept for each such while: the quickest
WHILE_S = 2.0
# Two minutes: longer than it takes to tell a drift, shorter than a crystal needs to warm up
KEPT_WHILES = 60
# Over less than this a drift would be made of jitter
MIN_SPAN_S = 10.0
# A crystal is off by 100 ppm and an RC oscillator by 1 %: more is a mistake of ours
MAX_DRIFT = 0.02
_CLOCK_PERIOD_MS = 2**32


class _Sample(Struct, frozen=True):
    """A moment on both clocks, and how long the answer that told it took."""

    device_s: float
    ours_s: float
    round_trip_s: float


class DeviceClock:
    """Clock of one board in one session."""

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


# Enough for a 99th percentile that is not a single bad moment, and minutes of pings
KEPT_ROUND_TRIPS = 512


class RoundTrips:
    """The latest times from a frame to the proof that it has arrived."""

    def __init__(self) -> None:
        self._kept_s: deque[float] = deque(maxlen=KEPT_ROUND_TRIPS)

    def add(self, round_trip_s: float) -> None:
        self._kept_s.append(round_trip_s)

    def percentile_ms(self, share: float) -> float | None:
        """The time that this share of the round trips stayed within; None without any."""
        if not self._kept_s:
            return None
        ordered = sorted(self._kept_s)
        at = min(len(ordered) - 1, int(share * len(ordered)))
        return round(ordered[at] * 1000, 3)


class Counters(Struct):
    """Numbers of one session; they only grow, but the rate."""

    frames_sent: int = 0
    frames_received: int = 0
    frames_dropped: int = 0
    crc_errors: int = 0
    frames_resent: int = 0
    frames_repeated: int = 0
    frames_missed: int = 0
    frames_ignored: int = 0
    answers_late: int = 0
    # Bits per second of the port, which means nothing on USB; 0 is not known
    baud: int = 0
    round_trips: RoundTrips = field(default_factory=RoundTrips)
    clock: DeviceClock = field(default_factory=DeviceClock)

    def as_numbers(self) -> dict[str, float | None]:
        """Return the line's quality as numbers."""
        return {
            "baud": self.baud or None,
            "frames": self.frames_sent + self.frames_received,
            "retries": self.frames_resent,
            "crc_errors": self.crc_errors,
            "rtt_p50_ms": self.round_trips.percentile_ms(0.5),
            "rtt_p99_ms": self.round_trips.percentile_ms(0.99),
            "clock_offset_s": round(self.clock.offset_s, 4) if self.clock.is_set else None,
            "clock_drift_ppm": round(self.clock.drift_ppm, 1) if self.clock.is_set else None,
        }

    def in_words(self) -> str:
        """Return the line's quality as half a sentence."""
        said = self.as_numbers()
        words = f"{said['frames']} frames, {said['retries']} sent again, "
        words += f"{said['crc_errors']} damaged"
        if self.baud:
            words += f", {self.baud} baud"
        if said["rtt_p50_ms"] is None:
            return words
        return f"{words}, round trip {said['rtt_p50_ms']:g} ms (99 %: {said['rtt_p99_ms']:g} ms)"
