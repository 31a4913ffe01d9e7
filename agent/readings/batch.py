"""Batches of values as they were recorded: on the clock that never jumps, placed in time later.

A machine without a battery for its clock may start in the past and learn the time from the network
minutes later. What was recorded before is placed by what the same start of the machine knew last.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

# 2025: a clock that says less was never set
EARLIEST_MS = 1_735_689_600_000
# Time and value of one reading, in milliseconds of the monotonic clock
Values = tuple[list[int], list[float]]


class Batch(Struct):
    """Values of some minutes.

    Args:
        number: of the batch; each has a higher one than those before it.
        boot: start of the machine that the monotonic times belong to.
        offset_ms: what the wall clock was ahead of the monotonic one.
        is_sure: the wall clock was known to be right.
        values: by the id of the reading.
    """

    number: int
    boot: str
    offset_ms: int
    is_sure: bool
    values: dict[int, Values] = field(default_factory=dict)

    def add(self, series_id: int, at_ms: int, value: float) -> None:
        times, values = self.values.setdefault(series_id, ([], []))
        times.append(at_ms)
        values.append(value)

    def __len__(self) -> int:
        return sum(len(times) for times, _ in self.values.values())


def in_order(batches: Iterable[Batch], after: int) -> list[Batch]:
    """Return the batches with a number above `after` in their order, each with its own number."""
    found = sorted((one for one in batches if one.number > after), key=lambda one: one.number)
    for one in found:
        # Of two places that were used in turn, both may have counted on from the same number
        one.number = after = max(one.number, after + 1)
    return found


def offsets(batches: Sequence[Batch]) -> Mapping[int, int]:
    """Return the offset of each batch whose time is known, by its number.

    A batch of a clock that was not sure takes what the same start of the machine knew next, else
    what it knew before, else what its own clock said if that can be true at all.
    """
    known: dict[int, int] = {}
    for ordered in (batches[::-1], batches):
        sure_of_boot: dict[str, int] = {}
        for batch in ordered:
            if batch.is_sure:
                sure_of_boot[batch.boot] = known[batch.number] = batch.offset_ms
            elif batch.boot in sure_of_boot:
                known.setdefault(batch.number, sure_of_boot[batch.boot])
    for batch in batches:
        if batch.offset_ms >= EARLIEST_MS:
            known.setdefault(batch.number, batch.offset_ms)
    return known


def placed(batches: Iterable[Batch], known: Mapping[int, int], series_id: int) -> Values:
    """Return the values of one reading on the wall clock, in the order of their times."""
    rows: dict[int, float] = {}
    for batch in batches:
        offset_ms = known.get(batch.number)
        if offset_ms is not None and series_id in batch.values:
            times, values = batch.values[series_id]
            rows.update(zip((at + offset_ms for at in times), values, strict=True))
    ordered = sorted(rows.items())
    return [at for at, _ in ordered], [value for _, value in ordered]
