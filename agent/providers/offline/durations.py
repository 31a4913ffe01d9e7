"""Durations as they are said: an hour and a half, 5 min 30 s, anderthalb Stunden."""

from collections.abc import Sequence

from msgspec import Struct

from agent.providers.offline.counts import Count, count_at
from agent.providers.offline.time_vocabulary import UNIT_S, TimeVocabulary, span_s, time_vocabulary
from agent.providers.offline.units import Unit

_COMMA = frozenset({",", "、", "，"})
_HALF = 0.5
_QUARTER = 0.25
_HUNDRED = 100
# 之后, 之内: after it, within it
_AFTER_ZHI = (["后"], ["内"], ["前"])


class Duration(Struct, frozen=True):
    """Number of seconds, said by the units from `start` up to `end`."""

    seconds: float
    start: int
    end: int
    # The smallest unit that was said, in seconds
    unit_s: float = 0.0
    # One of something was said by its article alone: a second
    by_article: bool = False
    # So much more of something
    is_more: bool = False


def duration_at(units: Sequence[Unit], position: int, code: str) -> Duration | None:
    """Return the duration that begins here, with all its parts."""
    own = time_vocabulary(code)
    whole = _part_at(units, position, own)
    while whole is not None:
        after = _joined(units, whole.end, own)
        part = _part_at(units, after, own)
        if part is None or part.by_article or part.unit_s >= whole.unit_s:
            break
        seconds = whole.seconds + part.seconds
        whole = Duration(seconds, position, part.end, part.unit_s, is_more=whole.is_more)
    return whole


def _joined(units: Sequence[Unit], position: int, own: TimeVocabulary) -> int:
    """Skip a comma and an `and`."""
    if position < len(units) and units[position].text in _COMMA:
        position += 1
    found = own.joins.at(units, position)
    return position if found is None else found.end


def _part_at(units: Sequence[Unit], position: int, own: TimeVocabulary) -> Duration | None:
    """Read a number with one unit, or a span that has a name of its own."""
    span = own.spans.at(units, position)
    if span is not None:
        seconds = span_s(span.values[0])
        return Duration(seconds, position, span.end, min(seconds, UNIT_S["h"]))
    number, by_article = count_at(units, position, own.code), False
    if number is None or own.units.at(units, _past_half(units, number.end, own)[0]) is None:
        number, by_article = _article(units, position, own) or number, True
    if number is None or number.value < 0:
        return None
    return _counted(units, position, number, own, by_article=by_article)


def _article(units: Sequence[Unit], position: int, own: TimeVocabulary) -> Count | None:
    found = own.marks.at(units, position)
    if found is None or "articles" not in found.values:
        return None
    # A hundred seconds
    after = count_at(units, found.end, own.code)
    return after if after is not None and after.value >= _HUNDRED else Count(1.0, found.end)


def _counted(
    units: Sequence[Unit], position: int, number: Count, own: TimeVocabulary, *, by_article: bool
) -> Duration | None:
    end, half = _past_half(units, number.end, own)
    more = own.marks.at(units, end)
    is_more = more is not None and "more_between" in more.values
    if more is not None and is_more:
        end = more.end
    unit = own.units.at(units, end)
    if unit is None or _is_divided(units, unit.end, own.code):
        return None
    unit_s = UNIT_S[unit.values[0]]
    end, share = unit.end, half
    if not half:
        end, share = _past_share(units, unit.end, own)
    least_s = unit_s if not share else unit_s * _QUARTER
    seconds = (number.value + share) * unit_s
    if seconds <= 0:
        return None
    return Duration(seconds, position, end, least_s, by_article, is_more)


def _is_divided(units: Sequence[Unit], position: int, code: str) -> bool:
    """Return true if 分 means parts of a hundred, not minutes: 百分之五十, 四分の三."""
    after = [unit.text for unit in units[position : position + 2]]
    if after[:1] == ["の"]:
        return count_at(units, position + 1, code) is not None
    return after[:1] == ["之"] and after[1:] not in _AFTER_ZHI


def _past_half(units: Sequence[Unit], position: int, own: TimeVocabulary) -> tuple[int, float]:
    """Read a half between number and unit: one and a half hours."""
    found = own.marks.at(units, position)
    is_half = found is not None and "half_between" in found.values
    if found is not None and is_half and own.units.at(units, found.end) is not None:
        return found.end, _HALF
    return position, 0.0


def _past_share(units: Sequence[Unit], position: int, own: TimeVocabulary) -> tuple[int, float]:
    """Read a part after a unit: an hour and a half, una hora y cuarto."""
    found = own.marks.at(units, position)
    if found is not None and "half_after" in found.values:
        # Two hours and a half hour is no half of an hour more than once
        return found.end, _HALF
    if found is not None and "quarter_after" in found.values:
        return found.end, _QUARTER
    return position, 0.0
