"""Columns of a reading: its values over time, each in a list of its own.

Lists are cut, joined and added up at the speed of C; a year of a reading has 35,000 rows. A row is
one value, or a bucket of values that begins at its time. As bytes they are differences of whole
numbers, compressed: a value of a day takes about half a byte.
"""

import operator
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, repeat

from msgspec import Struct, field

# A value is taken to last until the next one, but for no longer than this many cadences
HELD_CADENCES = 2.5
# The longest cadence: what is recorded more often now may have been recorded so before
_COARSEST_S = 60
# What a switch has to reach to be on
ON_LEVEL = 0.5
_HEADER = struct.Struct("<BBI")
# Digits behind the point that are tried; a value with more is kept as it is
_MOST_DIGITS = 4
_AS_IT_IS = 255
# Times at a fixed distance, and values that stay the same: the first and the difference say it all
_EVEN = 0
# Larger values, scaled, are not whole numbers of 63 bits, nor exact
_EXACT = 2.0**48
# From the smallest: one byte for most differences
_CODES = "bhiq"
_LEVEL = 9
# Times in milliseconds that are all whole seconds need no more
_SECOND_MS = 1000


class Columns(Struct):
    """Values of one reading, in the order of their times.

    Args:
        at_ms: since the epoch.
        counts: values in each row; 1 where a row is a single value.
        on_ms: how long a switch was on in a row.
        known_ms: how much of the time of a row is covered by values.
        starts: how often a switch became on in a row.
    """

    at_ms: list[int] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    on_ms: list[int] = field(default_factory=list)
    known_ms: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.at_ms)

    def every(self) -> tuple[list[int] | list[float], ...]:
        """Return the columns in the order in which they are kept."""
        return (
            *(self.at_ms, self.lows, self.means, self.highs),
            *(self.counts, self.on_ms, self.known_ms, self.starts),
        )

    def extend(self, other: "Columns") -> None:
        """Append rows that come later."""
        self.at_ms += other.at_ms
        self.lows += other.lows
        self.means += other.means
        self.highs += other.highs
        self.counts += other.counts
        self.on_ms += other.on_ms
        self.known_ms += other.known_ms
        self.starts += other.starts

    def between(self, begin_ms: int, end_ms: int) -> "Columns":
        """Return the rows that begin in the half-open span."""
        at = slice(bisect_left(self.at_ms, begin_ms), bisect_left(self.at_ms, end_ms))
        return Columns(
            self.at_ms[at],
            self.lows[at],
            self.means[at],
            self.highs[at],
            self.counts[at],
            self.on_ms[at],
            self.known_ms[at],
            self.starts[at],
        )

    def picked(self, numbers: Sequence[int]) -> "Columns":
        """Return the rows with these numbers."""
        return Columns(*([column[at] for at in numbers] for column in self.every()))  # type: ignore[arg-type]  # each column keeps its type


def of_values(at_ms: list[int], values: list[float], cadence_s: int, *, is_switch: bool) -> Columns:
    """Return single values as rows: each lasts until the next one, or until a gap begins."""
    longest_ms = int(cadence_s * HELD_CADENCES * 1000)
    distances = list(map(operator.sub, at_ms[1:], at_ms))
    lasted = list(map(min, distances, repeat(longest_ms)))
    for at in _of_before(distances, longest_ms):
        lasted[at] = distances[at]
    # Nobody knows yet for how long the newest will last
    lasted += [0] * (len(at_ms) - len(lasted))
    nothing = [0] * len(at_ms)
    ones = [1] * len(at_ms)
    if not is_switch:
        return Columns(at_ms, values, values, values, ones, nothing, lasted, nothing)
    is_on = [value >= ON_LEVEL for value in values]
    on_ms = list(map(operator.mul, lasted, is_on))
    starts = list(map(int, map(operator.gt, is_on, [True, *is_on])))
    return Columns(at_ms, values, values, values, ones, on_ms, lasted, starts)


def _of_before(distances: Sequence[int], longest_ms: int) -> Iterator[int]:
    """Yield the places of distances of a longer cadence: one alone is a gap, several are none."""
    coarsest_ms = int(_COARSEST_S * HELD_CADENCES * 1000)
    is_long = [longest_ms < one <= coarsest_ms for one in distances]
    for at, (before, this, after) in enumerate(
        zip([False, *is_long], is_long, [*is_long[1:], False], strict=False)
    ):
        if this and (before or after):
            yield at


def lengthen(rows: Columns, end_ms: int, cadence_s: int, *, is_switch: bool) -> None:
    """Let the newest value last until `end_ms`, or until a gap begins."""
    if not len(rows) or rows.at_ms[-1] >= end_ms:
        return
    lasts_ms = min(end_ms - rows.at_ms[-1], int(cadence_s * HELD_CADENCES * 1000))
    rows.known_ms[-1] = lasts_ms
    if is_switch and rows.means[-1] >= ON_LEVEL:
        rows.on_ms[-1] = lasts_ms


def last_until(rows: Columns, next_ms: int, cadence_s: int, *, is_switch: bool) -> None:
    """Let the last value, kept apart from the next one, last until that, if there is no gap."""
    if not len(rows) or rows.counts[-1] != 1 or rows.known_ms[-1] or next_ms <= rows.at_ms[-1]:
        return
    # What was recorded at a longer cadence goes on so
    before_ms = rows.known_ms[-2] if len(rows) > 1 and rows.counts[-2] == 1 else 0
    longest_ms = max(int(cadence_s * HELD_CADENCES * 1000), before_ms)
    lasts_ms = next_ms - rows.at_ms[-1]
    if lasts_ms > longest_ms:
        return
    rows.known_ms[-1] = lasts_ms
    if is_switch and rows.means[-1] >= ON_LEVEL:
        rows.on_ms[-1] = lasts_ms


def distances_ms(rows: Columns, cadence_s: float) -> list[int]:
    """Return how far behind each row the next one may begin before there is a gap.

    Older days are kept by the minute or quarter of an hour, whatever the cadence is.
    """
    longest_ms = int(cadence_s * HELD_CADENCES * 1000)
    # Of the last value of a chunk it was not known how long it would last: as the one before it
    known = [one or before for before, one in pairwise([0, *rows.known_ms])]
    return [
        max(longest_ms, known_ms if count == 1 else 2 * known_ms)
        for count, known_ms in zip(rows.counts, known, strict=True)
    ]


def in_buckets(rows: Columns, bucket_ms: int) -> Columns:
    """Return the rows in buckets of equal length; empty buckets are left out."""
    made = Columns()
    begin = 0
    while begin < len(rows):
        at_ms = rows.at_ms[begin] // bucket_ms * bucket_ms
        end = bisect_left(rows.at_ms, at_ms + bucket_ms, begin)
        _add_bucket(made, at_ms, rows, slice(begin, end))
        begin = end
    return made


def _add_bucket(made: Columns, at_ms: int, rows: Columns, within: slice) -> None:
    counts, means = rows.counts[within], rows.means[within]
    count = sum(counts)
    total = sum(mean * one for mean, one in zip(means, counts, strict=True))
    made.at_ms.append(at_ms)
    made.lows.append(min(rows.lows[within]))
    # More digits than any sensor has, and few enough to be packed
    made.means.append(round(total / count, 3))
    made.highs.append(max(rows.highs[within]))
    made.counts.append(count)
    made.on_ms.append(sum(rows.on_ms[within]))
    made.known_ms.append(sum(rows.known_ms[within]))
    made.starts.append(sum(rows.starts[within]))


def merged(one: Columns, other: Columns) -> Columns:
    """Return the rows of both in the order of their times."""
    both = Columns()
    both.extend(one)
    both.extend(other)
    order = sorted(range(len(both)), key=both.at_ms.__getitem__)
    return Columns(*([column[at] for at in order] for column in both.every()))  # type: ignore[arg-type]  # each column keeps its type


def pack_values(at_ms: Sequence[int], values: Sequence[float]) -> bytes:
    """Return single values as bytes."""
    whole = all(at % _SECOND_MS == 0 for at in at_ms)
    times = [at // _SECOND_MS for at in at_ms] if whole else list(at_ms)
    return zlib.compress(bytes([whole]) + _packed(times) + _packed(values), _LEVEL)


def unpack_values(packed: bytes, cadence_s: int, *, is_switch: bool) -> Columns:
    """Return the rows of single values."""
    data = zlib.decompress(packed)
    times, values = _unpacked(memoryview(data)[1:])
    at_ms = [at * _SECOND_MS for at in _whole(times)] if data[0] else _whole(times)
    return of_values(at_ms, values, cadence_s, is_switch=is_switch)


def pack_buckets(rows: Columns) -> bytes:
    """Return buckets as bytes."""
    return zlib.compress(b"".join(map(_packed, rows.every())), _LEVEL)


def unpack_buckets(packed: bytes) -> Columns:
    """Return the rows of buckets."""
    at_ms, lows, means, highs, counts, on_ms, known_ms, starts = _unpacked(
        memoryview(zlib.decompress(packed))
    )
    return Columns(
        *(_whole(at_ms), lows, means, highs),
        *(_whole(counts), _whole(on_ms), _whole(known_ms), _whole(starts)),
    )


def _whole(values: list[float]) -> list[int]:
    """Return the same list: a column of whole numbers is unpacked as whole numbers."""
    return values  # type: ignore[return-value]  # no digits behind the point were packed


def _packed(values: Sequence[float]) -> bytes:
    is_exact = all(abs(value) < _EXACT for value in values)
    for digits in range(_MOST_DIGITS + 1 if is_exact else 0):
        scaled = [round(value * 10**digits) for value in values]
        if all(one / 10**digits == value for one, value in zip(scaled, values, strict=True)):
            steps = list(map(operator.sub, scaled, [0, *scaled]))
            if len(steps) > 1 and len(set(steps[1:])) == 1:
                header = _HEADER.pack(digits, _EVEN, len(values))
                return header + struct.pack("<qq", steps[0], steps[1])
            code = next((one for one in _CODES[:-1] if _fits(steps[1:], one)), _CODES[-1])
            first = struct.pack("<q", steps[0] if steps else 0)
            header = _HEADER.pack(digits, ord(code), len(values))
            return header + first + array(code, steps[1:]).tobytes()
    return _HEADER.pack(_AS_IT_IS, ord("d"), len(values)) + array("d", values).tobytes()


def _fits(steps: Sequence[int], code: str) -> bool:
    limit = 1 << (8 * array(code).itemsize - 1)
    return not steps or (min(steps) >= -limit and max(steps) < limit)


def _unpacked(data: memoryview) -> Iterator[list[float]]:
    at = 0
    while at < len(data):
        digits, code, count = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if code == _EVEN:
            first, step = struct.unpack_from("<qq", data, at)
            at += 16
            yield _even(first, step, count, digits)
            continue
        values: array[float] = array(chr(code))
        if digits == _AS_IT_IS:
            end = at + count * values.itemsize
            values.frombytes(data[at:end])
            yield values.tolist()
        else:
            (first,) = struct.unpack_from("<q", data, at)
            at += 8
            end = at + max(0, count - 1) * values.itemsize
            values.frombytes(data[at:end])
            scale = 10**digits
            scaled: list[float] = list(accumulate(values, initial=first)) if count else []
            yield [one / scale for one in scaled] if digits else scaled
        at = end


def _even(first: int, step: int, count: int, digits: int) -> list[float]:
    if not step:
        return [first / 10**digits if digits else first] * count
    whole = range(first, first + step * count, step)
    return [one / 10**digits for one in whole] if digits else list(whole)
