"""Words beside a time that make it another one: December 24, Monday or Tuesday, every month."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from agent.providers.offline.time_vocabulary import FoundForm, TimeVocabulary
from agent.providers.offline.units import Unit, UnitKind

# Of a date beside a time: units, and letters of the words in between
_REACH, _LITTLE_CHARS = 5, 3
_BETWEEN = frozenset({".", ",", "の", "에", "，", "、", "日", "일", "号"})
_DATE = re.compile(
    r"(?:[0-9一二三四五六七八九十] ?[月월] ?[0-9一二三四五六七八九十]{1,3} ?[日号號일] ?[のに에]?"
    r"|\b[0-9]{1,2}(?:e|de|ste|er|[èe]me|º))\s?\Z"
)
# In these, a time without a word before it is how long something lasts
BARE_LASTS = frozenset({"zh", "ja", "ko"})
# Days that come again
AGAIN = frozenset({"day", "weekday"})
# "On the weekend" is the coming one, of which no day is told
WEEKEND, WEEKENDS = "weekend", "weekends"


class Stretch(Struct, frozen=True):
    """Units of a sentence from `start` up to `end`, which tell a time.

    Args:
        is_time: tells if a time begins at a place.
    """

    units: Sequence[Unit]
    start: int
    end: int
    own: TimeVocabulary
    is_time: Callable[[int], bool]


def is_part(told: Stretch, text: str) -> bool:
    """Return true if what stands beside a time makes it another one: December 24, 八点前."""
    return (
        _DATE.search(text[: told.units[told.start].start]) is not None
        or _is_beside(told)
        or _is_listed(told)
        or _is_of_another_day(told)
    )


def _is_of_another_day(told: Stretch) -> bool:
    units, own = told.units, told.own
    for start in range(told.start - 1, max(told.start - _REACH, 0) - 1, -1):
        found = _other_day(units, start, own) or own.ordinals.at(units, start)
        day = own.days.at(units, start)
        if day is not None and day.values[0] in {WEEKEND, *AGAIN}:
            # A weekend is two days, and no word says that they come again
            found = day
        if found is not None and all(map(_is_little, units[found.end : told.start])):
            return True
    for start in range(told.end, min(told.end + _REACH, len(units))):
        if _other_day(units, start, own) is not None:
            return True
        tagged = own.tags.at(units, start)
        # Behind "to" and "about" its text begins
        if not _is_little(units[start]) or (tagged is not None and "that" in tagged.values):
            break
    return False


def _is_beside(told: Stretch) -> bool:
    """Return true if it is the time before or after: an hour before midnight, avant 8 h, 八点前."""
    units, own = told.units, told.own
    before = (own.marks.at(units, start) for start in range(max(told.start - 2, 0), told.start))
    if any(one is not None and "beside" in one.values and one.end == told.start for one in before):
        return own.code not in BARE_LASTS
    after = own.marks.at(units, told.end)
    if after is None or "beside" not in after.values:
        return False
    return own.code in BARE_LASTS or told.is_time(after.end)


def _is_listed(told: Stretch) -> bool:
    """Return true if another time stands behind it: Monday or Tuesday, 7時と19時."""
    joined = told.own.marks.at(told.units, told.end)
    return (
        joined is not None
        and not {"joins", "also_at"}.isdisjoint(joined.values)
        and told.is_time(joined.end)
    )


def _other_day(units: Sequence[Unit], at: int, own: TimeVocabulary) -> FoundForm | None:
    """Read what makes a time another day's; a month alone may be somebody's name: call June."""
    month = own.months.at(units, at)
    if month is None:
        return own.other_days.at(units, at)
    # Of "24. December" and "24 de diciembre" too
    beside = (*units[max(at - 2, 0) : at], *units[month.end : month.end + 1])
    is_date = any(unit.kind is UnitKind.NUMBER for unit in beside)
    return month if is_date else None


def _is_little(unit: Unit) -> bool:
    """Return true for what may stand inside of a date, as in "on the 24th of"."""
    is_word = unit.kind is UnitKind.WORD and len(unit.text) <= _LITTLE_CHARS
    return is_word or unit.kind is UnitKind.NUMBER or unit.text in _BETWEEN
