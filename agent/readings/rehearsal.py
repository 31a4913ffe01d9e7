"""Rehearsal of a board's rules: what they would have done in the past, and where they conflict.

The firmware's own rule code decides, in a child process and in virtual time. A reading counts until
the next one, but not across a gap: there nothing holds, as where a sensor fails.
"""

import enum
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from agent.link.manifest import BoardPin, Field, Manifest
from agent.link.readings import BoardReading, readings, settings
from agent.link.reflexes import ReflexRule, pack_rule
from agent.link.settings import BoardSettings
from agent.link.value_codec import range_of
from agent.readings import rule_code
from agent.readings.columns import HELD_CADENCES, Columns
from agent.readings.periods import Span
from agent.readings.rule_code import NotRun
from agent.readings.series import Series
from agent.readings.store import DAY_MS, FINE_MS
from agent.security.sandbox.base import Sandbox

LENGTH_DAYS = 30
# Older values are kept as minutes
_COARSEST_S = 60
_MS = 1000


class PastReadings(Protocol):
    """Everything that was recorded."""

    async def open(self) -> None:
        """Read what there is; done once."""

    def every_series(self) -> Sequence[Series]: ...

    async def rows(self, series: Series, begin_ms: int, end_ms: int) -> Columns:
        """Return the rows of a span."""


class DescribedBoard(Protocol):
    """A board, as far as its description goes."""

    @property
    def name(self) -> str: ...

    @property
    def manifest(self) -> Manifest | None: ...


class Past(Struct, frozen=True):
    """A reading of the board with what was recorded of it; no series where nothing was."""

    reading: BoardReading
    series: Series | None
    rows: Columns

    @property
    def held_ms(self) -> int:
        """Return for how long a value counts."""
        cadence_s = self.series.cadence_s if self.series else 0
        return int(HELD_CADENCES * max(cadence_s, _COARSEST_S) * _MS)

    @property
    def known_ms(self) -> int:
        return sum(end - begin for begin, end, _ in self.stretches)

    @property
    def gaps(self) -> int:
        """Return how often nothing was recorded between two values."""
        pairs = itertools.pairwise(self.stretches)
        return sum(later[0] > earlier[1] for earlier, later in pairs)

    @property
    def stretches(self) -> list[tuple[int, int, float]]:
        """Return for each value when it begins to count and when it ends."""
        rows, held_ms = self.rows, self.held_ms
        found: list[tuple[int, int, float]] = []
        nexts: list[int | None] = [*rows.at_ms[1:], None]
        columns = zip(rows.at_ms, rows.means, rows.counts, rows.known_ms, nexts, strict=True)
        for at_ms, mean, count, known_ms, next_ms in columns:
            # Of many values in a row the last one counts on from there
            longest_ms = at_ms + held_ms + (known_ms if count > 1 else 0)
            found.append((at_ms, min(longest_ms, next_ms or longest_ms), mean))
        return found


class Act(Struct, frozen=True):
    """Time in which a rule would have held its output."""

    begin_ms: int
    end_ms: int


class Rehearsed(Struct, frozen=True):
    """Acts of one rule in a span of the past.

    Args:
        refused: how often the board would have said no.
        code: the answer code of the last refusal.
        is_cut: it acted so often that it was looked at only until `span` ends.
    """

    span: Span
    acts: tuple[Act, ...]
    refused: int
    code: int
    is_cut: bool


class ConflictKind(enum.Enum):
    """Kind of a conflict, by the name that the search gives it."""

    # Two rules set one output to two values
    OPPOSED = "opposed"
    # A rule takes an output away from what another one's output needs
    TOGETHER = "together"
    # A rule switches an output on without the one that it needs
    MISSING = "missing"


class Conflict(Struct, frozen=True):
    """Contradiction of two rules, or of a rule and a limit of its output.

    Args:
        rules: numbers of the rules.
        outputs: indexes of the pins.
        state: what each reading is then.
    """

    kind: ConflictKind
    rules: tuple[int, ...]
    outputs: tuple[int, ...]
    state: tuple["ConflictReading", ...]


class ConflictReading(Struct, frozen=True):
    """Raw value of a reading, and those before it, where hysteresis remembers them."""

    index: int
    part: int
    value: int
    path: tuple[int, ...]


async def pasts(
    board: DescribedBoard, rules: Iterable[ReflexRule], store: PastReadings, span: Span
) -> list[Past]:
    """Return what was recorded of each reading that the rules and their outputs depend on."""
    return await pasts_of(board, set(names_in(manifest_of(board), rules)), store, span)


async def pasts_of(
    board: DescribedBoard, wanted: Collection[str], store: PastReadings, span: Span
) -> list[Past]:
    """Return what was recorded of each of these readings."""
    await store.open()
    manifest = manifest_of(board)
    prefix = "" if board.name == BoardSettings().name else f"{board.name}:"
    every = {one.name: one for one in store.every_series()}
    found = []
    for reading in readings(manifest):
        if reading.name in wanted:
            series = every.get(prefix + reading.name)
            rows = await _rows(store, series, span) if series else Columns()
            found.append(Past(reading, series, rows))
    return found


async def rehearse(
    board: DescribedBoard,
    rules: Sequence[ReflexRule],
    past: Sequence[Past],
    span: Span,
    sandbox: Sandbox | None,
) -> Rehearsed:
    """Return what the first of the rules would have done beside those that matter to it.

    Raises:
        BarnacleError: it could not be found out; the text says why.
    """
    manifest = manifest_of(board)
    together = concerned(manifest, rules, rules[:1])
    given = {
        "rules": [pack_rule(manifest, rule).hex() for rule in together],
        "outputs": outputs_of(manifest),
        "histories": [history_of(one, span) for one in past if one.series is not None],
        "length_ms": span.length_ms,
    }
    done = await rule_code.run("virtual_board", given, sandbox)
    _, refused, code, _ = done["rules"][0]
    acts = tuple(
        Act(span.begin_ms + begin, span.begin_ms + end)
        for number, begin, end in done["acts"]
        if number == 0
    )
    seen = Span(span.begin_ms, span.begin_ms + done["until_ms"])
    return Rehearsed(seen, acts, refused, code, done["is_cut"])


async def conflicts(
    board: DescribedBoard, rules: Sequence[ReflexRule], sandbox: Sandbox | None
) -> list[Conflict]:
    """Return what must not be and can be once the first of the rules is there.

    Raises:
        BarnacleError: it could not be found out; the text says why.
    """
    manifest = manifest_of(board)
    given = {
        "rules": [pack_rule(manifest, rule).hex() for rule in rules],
        "outputs": outputs_of(manifest),
        "ranges": list(ranges_of(manifest)),
        "asked": [0],
    }
    return conflicts_in(await rule_code.run("rule_conflicts", given, sandbox))


def conflicts_in(done: Mapping[str, Any]) -> list[Conflict]:
    """Return what the search has found."""
    return [
        Conflict(
            ConflictKind(one["kind"]),
            tuple(one["rules"]),
            tuple(one["outputs"]),
            tuple(
                ConflictReading(index, part, value, tuple(path))
                for index, part, value, path in one["state"]
            ),
        )
        for one in done["conflicts"]
    ]


def last_days(now_s: float) -> Span:
    end_ms = round(now_s * _MS)
    return Span(end_ms - LENGTH_DAYS * DAY_MS, end_ms)


def manifest_of(board: DescribedBoard) -> Manifest:
    """Return what the board has told of itself; raise NotRun before it has."""
    if board.manifest is None:
        raise NotRun("the board has not been seen yet")
    return board.manifest


def names_in(
    manifest: Manifest, rules: Iterable[ReflexRule], outputs: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the readings that the conditions name, and those that the interlocks look at."""
    pins = {pin.name: pin for pin in manifest.pins}
    moved = list(outputs)
    for rule in rules:
        yield from (condition.reading for condition in rule.when)
        moved.append(rule.output)
    for output in moved:
        if output in pins:
            yield from (name for name, _ in pins[output].needs)


def concerned(
    manifest: Manifest,
    rules: Sequence[ReflexRule],
    found: Sequence[ReflexRule],
    outputs: Collection[str] = (),
) -> list[ReflexRule]:
    """Return the found rules and those that move what they or the outputs depend on in any way."""
    found = list(found)
    while True:
        named = {name.partition(".")[0] for name in names_in(manifest, found, outputs)}
        named |= {rule.output for rule in found} | set(outputs)
        more = [rule for rule in rules if rule.output in named and rule not in found]
        if not more:
            return found
        found += more


async def _rows(store: PastReadings, series: Series, span: Span) -> Columns:
    """Return every value of the span: more at once would come as quarters of an hour."""
    found = Columns()
    for begin_ms in range(span.begin_ms, span.end_ms, FINE_MS):
        found.extend(await store.rows(series, begin_ms, min(begin_ms + FINE_MS, span.end_ms)))
    return found


def history_of(past: Past, span: Span) -> dict[str, Any]:
    """Return the changes of a reading in the board's numbers, with the gaps as None."""
    times: list[int] = []
    values: list[int | None] = []
    known_ms = span.begin_ms
    for begin_ms, end_ms, value in past.stretches:
        if begin_ms > known_ms:
            times.append(known_ms - span.begin_ms)
            values.append(None)
        raw = _raw(past.reading.field, value)
        if not values or values[-1] != raw:
            times.append(begin_ms - span.begin_ms)
            values.append(raw)
        known_ms = end_ms
    times.append(known_ms - span.begin_ms)
    values.append(None)
    index, part = past.reading.index, past.reading.part
    return {"index": index, "part": part, "times": times, "values": values}


def _raw(field: Field, value: float) -> int:
    return round(value) if field.choices else round(value / field.scale)


def outputs_of(manifest: Manifest) -> list[dict[str, Any]]:
    """Return the outputs with their limits, as the programs take them."""
    places = {pin.name: pin.index for pin in manifest.pins}
    return [
        {
            "index": one.pin.index,
            "safe": one.pin.safe,
            "highest": _highest(one.field),
            "limits": _limits(one.pin),
            "needs": [[places[name], value] for name, value in one.pin.needs if name in places],
        }
        for one in settings(manifest)
    ]


def _limits(pin: BoardPin) -> dict[str, Any]:
    return {
        "name": pin.name,
        "lease_ms": pin.lease_ms,
        "max_on_ms": pin.max_on_ms,
        "min_off_ms": pin.min_off_ms,
        "per_minute": pin.per_minute,
    }


def _highest(field: Field) -> int:
    if field.choices:
        return len(field.choices) - 1
    _, high = range_of(field)
    return round(high / field.scale) if high is not None else (1 << 31) - 1


def ranges_of(manifest: Manifest) -> Iterator[list[int]]:
    """Yield the lowest and the highest raw value of each reading."""
    for one in readings(manifest):
        if one.field.choices:
            yield [one.index, one.part, 0, len(one.field.choices) - 1]
            continue
        low, high = range_of(one.field)
        if low is not None and high is not None:
            scale = one.field.scale
            yield [one.index, one.part, round(low / scale), round(high / scale)]
