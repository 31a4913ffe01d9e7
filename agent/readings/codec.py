"""Columns as bytes: differences of whole numbers, compressed.

A sensor's values have few digits and change little: a value of a day takes about half a byte.
"""

import operator
import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate

from agent.readings.columns import Columns, of_values

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
