"""Watch in virtual time: the firmware's own subscription, over a history of one reading.

Runs in `rule_program.py`, beside the firmware's own modules, and imports nothing of the agent. The
board looks in every pass of its loop; here it looks where a value begins, and once more when the
least interval after an event is over.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PASS_MS = 10
# The board's counter of milliseconds goes around; it looks often enough to notice
_TICKS, _LONGEST_MS = 1 << 30, 86_400_000
# Whoever is told more often knows enough
MOST_EVENTS = 20_000


class VirtualWatch:
    """Subscription and the events that it gave.

    Args:
        given: `mode`, `least_ms`, `low` and `high` as on the wire; `times` and `values` of the
            reading, None where nothing is known; `length_ms`.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._least_ms: int = given["least_ms"]
        self.events: list[list[int]] = []
        self._made: Any = None

    @property
    def is_enough(self) -> bool:
        return len(self.events) >= MOST_EVENTS

    def run(self) -> None:
        for begin_ms, end_ms, value in _stretches(self._given):
            if value is None:
                continue
            if self._made is None:
                self._begin(value, begin_ms)
            self._look(value, begin_ms, end_ms)
            if self.is_enough:
                return

    def _begin(self, value: int, at_ms: int) -> None:
        made = importlib.import_module("node.subscription").Subscription(0, 0, 0, 0)
        made.mode, made.least_ms = self._given["mode"], self._least_ms
        made.low, made.high = self._given["low"], self._given["high"]
        made.begin(0, value, _pass_at(at_ms) % _TICKS)
        self._made = made

    def _look(self, value: int, begin_ms: int, end_ms: int) -> None:
        at_ms = _pass_at(begin_ms)
        while at_ms < end_ms:
            if self._made.look(value, at_ms % _TICKS):
                self.events.append([at_ms, value])
                if self.is_enough:
                    return
            rests_until_ms = self._rests_until_ms
            # Nothing changes before the value does, but what was left out then may count now
            at_ms = rests_until_ms if rests_until_ms > at_ms else at_ms + _LONGEST_MS

    @property
    def _rests_until_ms(self) -> int:
        return _pass_at(self.events[-1][0] + self._least_ms) if self.events else 0


def run(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return time and value of each event."""
    watch = VirtualWatch(given)
    watch.run()
    return {"events": watch.events, "is_cut": watch.is_enough}


def _stretches(given: Mapping[str, Any]) -> Iterator[tuple[int, int, int | None]]:
    times: Sequence[int] = given["times"]
    ends = [*times[1:], given["length_ms"]]
    yield from zip(times, ends, given["values"], strict=True)


def _pass_at(at_ms: int) -> int:
    """Return the first pass of the loop that is not before that time."""
    return -(-at_ms // _PASS_MS) * _PASS_MS
