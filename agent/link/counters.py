"""Counters of a session, for people and for tests."""

from collections import deque
from dataclasses import dataclass, field

from agent.link.device_clock import DeviceClock

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


@dataclass(slots=True)
class Counters:
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
