"""Forecast of a reflex for the owner: what it would have done in the last weeks, and its conflicts.

Told in the question before the yes, with a drawing. What cannot be rehearsed is said to be so.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.errors import BarnacleError
from agent.link import frame as wire
from agent.link.base import Board
from agent.link.manifest import Manifest
from agent.link.readings import readings
from agent.link.reflexes import ReflexRule, raw_in_words, with_proper_names
from agent.readings.periods import Span, is_night
from agent.readings.rehearsal import (
    LENGTH_DAYS,
    Conflict,
    ConflictKind,
    ConflictReading,
    Past,
    Rehearsed,
    conflicts,
    last_days,
    pasts,
    rehearse,
)
from agent.readings.store import DAY_MS
from agent.tools.base import Forecast
from agent.tools.readings_draw import ReadingArtist
from agent.tools.rehearsal_drawing import RehearsalScene, RehearsedBar, drawn, to_be_drawn
from agent.tools.rehearsal_words import WHOLE_SHARE, moment

_MOST_CONFLICTS = 3
_REFUSALS = {
    "busy": "its output was in use, or had to rest",
    "interlock": "an interlock of its output was not met",
}


class ReflexRehearsal:
    """Rehearses the reflexes of boards on what was recorded."""

    def __init__(self, artist: ReadingArtist) -> None:
        self._artist = artist

    async def forecast(
        self, board: Board, rule: ReflexRule, others: Sequence[ReflexRule]
    ) -> Forecast:
        """Return what the owner is told before the rule goes to the board; never raises.

        Args:
            others: rules that act on the board already.
        """
        manifest = board.manifest
        if manifest is None:
            return Forecast("It could not be rehearsed: the board has not been seen yet.")
        lines: list[str] = []
        picture: Path | None = None
        try:
            rules = [with_proper_names(manifest, rule), *others]
            found = await conflicts(board, rules, self._artist.sandbox)
            lines += _conflicts_in_words(manifest, rules, found)
        except (BarnacleError, ValueError) as err:
            lines.append(f"It could not be looked through for conflicts: {err}.")
        try:
            rules = [with_proper_names(manifest, rule), *others]
            told, picture = await self._rehearsed(board, rules)
            lines.append(told)
        except (BarnacleError, ValueError) as err:
            lines.append(f"It could not be rehearsed: {err}.")
        return Forecast("\n".join(lines), picture)

    async def _rehearsed(
        self, board: Board, rules: Sequence[ReflexRule]
    ) -> tuple[str, Path | None]:
        desk = self._artist.desk
        span = last_days(desk.clock.wall_s())
        past = await pasts(board, rules, desk.store, span)
        named = {one.reading for one in rules[0].when}
        mine = [one for one in past if one.reading.name in named]
        unknown = [one.reading.name for one in mine if not len(one.rows)]
        if unknown:
            names = " and ".join(unknown)
            return f"It could not be rehearsed: no readings of {names} are recorded.", None
        done = await rehearse(board, rules, past, span, self._artist.sandbox)
        words = f"{self._acts_in_words(done, mine)}{_known_in_words(mine, span)}"
        return words, await self._picture(rules[0], done, mine)

    def _acts_in_words(self, done: Rehearsed, mine: Sequence[Past]) -> str:
        of = self._days_in_words(done, max(one.rows.at_ms[0] for one in mine))
        if not done.acts:
            return f"{of} it would not have acted{_refusals(done)}."
        count = f"more than {len(done.acts)} times" if done.is_cut else times(len(done.acts))
        longest_s = max(one.end_ms - one.begin_ms for one in done.acts) / 1000
        lasting = f", {longest_s:.3g} s at most" if longest_s else ""
        zone = self._artist.desk.zone
        nightly = sum(is_night(one.begin_ms, zone) for one in done.acts)
        night = f", {times(nightly)} at night" if nightly else ", never at night"
        when = f"; the last time at {moment(done.acts[-1].begin_ms, zone)}"
        return f"{of} it would have acted {count}{lasting}{night}{when}{_refusals(done)}."

    def _days_in_words(self, done: Rehearsed, begun_ms: int) -> str:
        if done.is_cut:
            # The last days were not come to
            zone = self._artist.desk.zone
            return f"From {moment(begun_ms, zone)} to {moment(done.span.end_ms, zone)}"
        days = min(LENGTH_DAYS, max(1, round((done.span.end_ms - begun_ms) / DAY_MS)))
        return f"On the last {days} days" if days > 1 else "On the last day"

    async def _picture(
        self, rule: ReflexRule, done: Rehearsed, mine: Sequence[Past]
    ) -> Path | None:
        """Return the drawing of the first reading that is a number; None where none can be made."""
        shown = to_be_drawn(mine)
        if shown is None:
            return None
        limits = tuple(
            one.value
            for one in rule.when
            if one.reading == shown.reading.name and not isinstance(one.value, str)
        )
        bar = RehearsedBar(rule.output, [(one.begin_ms, one.end_ms) for one in done.acts])
        return await drawn(self._artist, RehearsalScene(rule.name, shown, done.span, [bar], limits))


def times(count: int) -> str:
    """Return the count as an adverb."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _refusals(done: Rehearsed) -> str:
    if not done.refused:
        return ""
    code = wire.CODES[done.code]
    why = _REFUSALS.get(code, code.replace("_", " "))
    return f"; the board would have refused it {times(done.refused)} ({why})"


def _known_in_words(mine: Sequence[Past], span: Span) -> str:
    """Say what is missing of the past; empty where all is there."""
    least = min(mine, key=lambda one: one.known_ms)
    if least.known_ms >= WHOLE_SHARE * span.length_ms:
        return ""
    days = least.known_ms / DAY_MS
    known = f"{days:.0f} days" if days >= LENGTH_DAYS / 10 else f"{days * 24:.0f} hours"
    gaps = f", with {least.gaps} gap{'s' * (least.gaps > 1)} in which it would not act" * bool(
        least.gaps
    )
    return f" Of {least.reading.name} only {known} of readings are known{gaps}."


def _conflicts_in_words(
    manifest: Manifest, rules: Sequence[ReflexRule], found: Sequence[Conflict]
) -> Iterator[str]:
    for one in found[:_MOST_CONFLICTS]:
        yield f"Conflict: {_conflict_in_words(manifest, rules, one)}"
    if len(found) > _MOST_CONFLICTS:
        yield f"There are {len(found) - _MOST_CONFLICTS} more conflicts."


def _conflict_in_words(manifest: Manifest, rules: Sequence[ReflexRule], one: Conflict) -> str:
    pins = {pin.index: pin for pin in manifest.pins}
    first = rules[one.rules[0]]
    where = " and ".join(_state_in_words(manifest, state) for state in one.state)
    acts = f"at {where} {first.name} sets {first.output} to {first.value}"
    if one.kind is ConflictKind.MISSING:
        needed = pins[one.outputs[1]].name
        value = _needed(manifest, first.output, needed)
        return (
            f"{acts}, which may be only while {needed} is {value}, and no reflex sets it so there. "
            "The board refuses it."
        )
    other = rules[one.rules[1]]
    also = f"{acts} and {other.name} sets {other.output} to {other.value}"
    if one.kind is ConflictKind.OPPOSED:
        return f"{also}."
    value = _needed(manifest, first.output, other.output)
    limit = f"{first.output} may be on only while {other.output} is {value}"
    return f"{also}, but {limit}. The board does not let both be so."


def _needed(manifest: Manifest, output: str, needed: str) -> str:
    pin = next(pin for pin in manifest.pins if pin.name == output)
    return "on" if dict(pin.needs)[needed] else "off"


def _state_in_words(manifest: Manifest, state: ConflictReading) -> str:
    known = readings(manifest)
    reading = next(one for one in known if (one.index, one.part) == (state.index, state.part))
    name, field = reading.name.replace(".", " "), reading.field
    path = " and then ".join(raw_in_words(field, value) for value in state.path)
    after = f" (after {path})" if path else ""
    return f"{name} {raw_in_words(field, state.value)}{after}"
