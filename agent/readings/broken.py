"""Signs of a broken sensor: it stands still, jumps, or says what cannot be.

What is normal for it is taken from its past: a cellar stands still for a night, a rain gauge for a
month. Works on quarters of an hour.
"""

import enum
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from agent.readings.columns import Columns

# By unit: a value outside is no value of the thing that is measured
POSSIBLE = {
    "°C": (-90.0, 1400.0),
    "%": (-1.0, 101.0),
    "hPa": (200.0, 1200.0),
    "lx": (-1.0, 250_000.0),
    "ppm": (-1.0, 100_000.0),
    "cm": (-1.0, 2000.0),
}
# So many times as long as ever before without the least change, and no less than six hours
_STILL_TIMES, _LEAST_STILL = 3, 24
# A quarter is wild where it spans so many times what hardly any has spanned
_WILD_TIMES, _HARDLY_ANY = 4.0, 0.99
# Quarters of the last hour that have to be wild, with their means near one another
_LOOKED_AT, _LEAST_WILD = 4, 3
_LEAST_WIDTH = 1e-6


class Fault(enum.Enum):
    """Sign of a broken sensor, in the words that follow its name."""

    # No change at all for longer than it ever stood still
    STILL = "says the same all the time"
    # Back and forth, further than it ever moves
    WILD = "jumps back and forth"
    # Nothing that is measured has this value
    IMPOSSIBLE = "says what cannot be"


@dataclass(frozen=True, slots=True)
class Habits:
    """Habits of a sound sensor.

    Args:
        longest_still: quarters in a row without any change.
        width: what hardly any quarter has spanned.
    """

    longest_still: int
    width: float


def habits_of(rows: Columns) -> Habits:
    """Return the habits that its quarters of an hour show."""
    widths = sorted(high - low for low, high in zip(rows.lows, rows.highs, strict=True))
    hardly_any = widths[int(_HARDLY_ANY * (len(widths) - 1))] if widths else 0.0
    return Habits(max(_still_runs(rows), default=0), max(hardly_any, _LEAST_WIDTH))


def fault_of(rows: Columns, habits: Habits, unit: str) -> Fault | None:
    """Return the fault that the newest quarters show.

    Args:
        rows: as many quarters as are known lately: a day or more.
    """
    least, most = POSSIBLE.get(unit, (float("-inf"), float("inf")))
    if rows.lows[-1] < least or rows.highs[-1] > most:
        return Fault.IMPOSSIBLE
    if _is_wild(rows, habits):
        return Fault.WILD
    runs = _still_runs(rows)
    longest = max(_LEAST_STILL, _STILL_TIMES * habits.longest_still)
    return Fault.STILL if runs[-1] >= longest else None


def _still_runs(rows: Columns) -> list[int]:
    """Return the lengths of the runs of quarters without a change; 0 for one that moved."""
    runs: list[int] = []
    last: float | None = None
    for low, high in zip(rows.lows, rows.highs, strict=True):
        if low != high:
            runs.append(0)
            last = None
        elif low == last:
            runs[-1] += 1
        else:
            runs.append(1)
            last = low
    return runs


def _is_wild(rows: Columns, habits: Habits) -> bool:
    widths = [
        high - low
        for low, high in zip(rows.lows[-_LOOKED_AT:], rows.highs[-_LOOKED_AT:], strict=True)
    ]
    wild = [one for one in widths if one >= _WILD_TIMES * habits.width]
    if len(wild) < _LEAST_WILD:
        return False
    # What rises or falls fast leaves its mean behind
    moves = [abs(later - earlier) for earlier, later in pairwise(rows.means[-_LOOKED_AT:])]
    return median(moves) < median(wild)
