"""Times of day as they are said: half past seven, halb acht, las siete y media, 下午三点.

A time is told as `07:30`; where only half of the clock was said, as `07:30 or 19:30`.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.counts import Count, count_at
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.time_vocabulary import FoundForm, TimeVocabulary
from agent.providers.offline.units import UNSPACED, Unit, UnitKind

_DAY_HOURS, _HALF_DAY, _HOUR_MIN = 24, 12, 60
_HALF, _QUARTER = 30, 15
# Hours of each part of the day that are after noon: twelve at night is none, one at noon is
_AFTER_NOON = {
    "am": range(0),
    "pm": range(12),
    "noon": range(6),
    "evening": range(4, 12),
    "night": range(6, 12),
    "midnight": range(0),
}
# Words of a unit: por ciento
_LONGEST_MEASURE = 3
_SIGNS = frozenset({"%", "°", "€", "$"})
# With a colon, a day has 24 hours wherever people do not say am and pm
_TWELVE_HOURS = frozenset({"en"})


class ClockTime(Struct, frozen=True):
    """An hour and a minute, and where they end.

    Args:
        hour: 24 for the midnight that ends a day.
        is_open: it may be the other half of the day as well.
    """

    hour: int
    minute: int
    end: int
    is_open: bool

    @property
    def ends_day(self) -> bool:
        return self.hour == _DAY_HOURS

    @property
    def told(self) -> str:
        first = f"{self.hour % _DAY_HOURS:02}:{self.minute:02}"
        if not self.is_open:
            return first
        other = (self.hour + _HALF_DAY) % _DAY_HOURS
        return f"{first} or {other:02}:{self.minute:02}"

    def within(self, part: str) -> "ClockTime":
        """Return the same time in a part of the day: am, pm, noon, evening, night or midnight."""
        if self.hour > _HALF_DAY:
            return replace(self, is_open=False)
        hour = self.hour % _HALF_DAY
        late = hour in _AFTER_NOON[part]
        return replace(self, hour=hour + _HALF_DAY * late, is_open=False)


def clocktime_at(
    units: Sequence[Unit], position: int, own: TimeVocabulary, *, bare: bool
) -> ClockTime | None:
    """Return the time of day that begins here.

    Args:
        bare: a number alone is an hour, because of what stands before it.
    """
    written = _written(units, position, own)
    return written or _shared(units, position, own) or _hour(units, position, own, bare=bare)


def _written(units: Sequence[Unit], position: int, own: TimeVocabulary) -> ClockTime | None:
    """Read 19:30, with or without a word for times."""
    if position >= len(units) or units[position].kind is not UnitKind.NUMBER:
        return None
    hour, colon, minute = units[position].text.partition(":")
    if not colon or not (hour.isdecimal() and minute.isdecimal()):
        return None
    end = _past(units, position + 1, own, "hour_mark")
    is_open = own.code in _TWELVE_HOURS and 0 < int(hour) <= _HALF_DAY
    return _sound(int(hour), int(minute), end, is_open=is_open and not hour.startswith("0"))


def _shared(units: Sequence[Unit], position: int, own: TimeVocabulary) -> ClockTime | None:
    """Read parts of an hour before it: half past seven, halb acht, zehn vor acht."""
    found = own.marks.at(units, position)
    values = found.values if found else ()
    if found is not None:
        for mark, minutes in (("half_past", _HALF), ("half_to", -_HALF), ("quarter_to", -_QUARTER)):
            if mark in values:
                return _counted_from(units, found.end, minutes, own)
    if found is not None and "quarter" in values:
        return _past_or_to(units, found.end, _QUARTER, own)
    count = count_at(units, position, own.code)
    if count is None or count.value % 1 or not 0 < count.value < _HOUR_MIN:
        return None
    if position and units[position - 1].text == _FROM.get(own.code):
        # From 8 to 9 is no eight minutes before nine
        return None
    return _past_or_to(units, count.end, int(count.value), own)


# Where a range has the same word as the minutes before an hour
_FROM = {"en": "from"}
# Where the mark of an hour is the decimal point as well
_MARKS_DECIMALS = frozenset({"zh"})
_ZEROS, _TWO_DIGITS = ("0", "零", "〇"), 10
# Where minutes come after the hour: las siete y diez, le otto meno cinque
_LATER = frozenset({"es", "fr", "it", "pt"})


def _past_or_to(
    units: Sequence[Unit], end: int, minutes: int, own: TimeVocabulary
) -> ClockTime | None:
    found = own.marks.at(units, end)
    if found is None or own.code in _LATER:
        return None
    if "past" in found.values:
        return _counted_from(units, found.end, minutes, own)
    return _counted_from(units, found.end, -minutes, own) if "to" in found.values else None


def _counted_from(
    units: Sequence[Unit], end: int, minutes: int, own: TimeVocabulary
) -> ClockTime | None:
    hour = count_at(units, end, own.code)
    if hour is None or hour.value % 1 or hour.value > _DAY_HOURS:
        return None
    after = _past(units, hour.end, own, "hour_mark")
    return _shifted(int(hour.value), minutes, after)


def _shifted(hour: int, minutes: int, end: int) -> ClockTime | None:
    total = hour * _HOUR_MIN + minutes
    told, minute = divmod(total, _HOUR_MIN)
    is_open = 0 < hour <= _HALF_DAY
    # Quarter to one is a quarter of an hour before it, in the same half of the day
    told = told or (_HALF_DAY if is_open else 0)
    return _sound(told, minute, end, is_open=is_open)


def _hour(
    units: Sequence[Unit], position: int, own: TimeVocabulary, *, bare: bool
) -> ClockTime | None:
    hour = count_at(units, position, own.code)
    if hour is None or hour.value % 1 or not 0 <= hour.value <= _DAY_HOURS:
        return None
    marked = _past(units, hour.end, own, "hour_mark")
    if _is_decimal(units, position, hour.end, own):
        return None
    # Seven a.m. is no 7 A
    is_measured = daypart_at(units, marked, own) is None and _is_measured(units, marked, own)
    if marked == hour.end and (units[position].kind in UNSPACED or is_measured):
        return None
    end, minutes = _minutes(units, marked, own)
    if (more := _unmarked(units, hour.end, marked, own)) is not None:
        end, minutes = more.end, int(more.value)
    if marked == hour.end and end > marked and _is_measured(units, end, own):
        # The end of a larger number: quatre-vingt-dix pour cent
        return None
    if marked == hour.end and end == hour.end and not bare and daypart_at(units, end, own) is None:
        return None
    return _shifted(int(hour.value), minutes, end)


def _is_decimal(units: Sequence[Unit], position: int, end: int, own: TimeVocabulary) -> bool:
    """Return true where a number goes on: à un quart, a ventuno virgola cinque, 二十一点五度."""
    marked = _past(units, end, own, "hour_mark")
    if marked == end:
        return lexicon(own.code).numerals.is_part(units, position, end)
    more = _unmarked(units, end, marked, own)
    if more is None:
        return False
    is_minute = _is_minute(units[marked].text, more.value)
    return not is_minute or _is_measured(units, more.end, own)


def _unmarked(units: Sequence[Unit], end: int, marked: int, own: TimeVocabulary) -> Count | None:
    """Return the number behind an hour whose mark is the decimal point too, without its own."""
    if own.code not in _MARKS_DECIMALS or marked == end:
        return None
    return count_at(units, marked, own.code) if _minutes(units, marked, own)[0] == marked else None


def _is_minute(begun: str, count: float) -> bool:
    """Return true for what has no mark of minutes: 七点五十 and 七点零五, and 七点五 is 7.5."""
    is_spelled_out = begun[:1] in _ZEROS or count >= _TWO_DIGITS
    return is_spelled_out and not count % 1 and count < _HOUR_MIN


def _is_measured(units: Sequence[Unit], position: int, own: TimeVocabulary) -> bool:
    """Return true if another unit follows the number: 20 %, 20 degrees, vingt pour cent."""
    if position >= len(units):
        return False
    measures = lexicon(own.code).measures
    texts = tuple(unit.text for unit in units[position : position + _LONGEST_MEASURE])
    named = any(texts[: width + 1] in measures for width in range(len(texts)))
    return named or texts[0] in _SIGNS


def _minutes(units: Sequence[Unit], position: int, own: TimeVocabulary) -> tuple[int, int]:
    """Read minutes after the hour: acht Uhr dreißig, siete y media, 三点一刻."""
    found = own.marks.at(units, position)
    for mark, minutes in (
        ("three_quarters_after_hour", 3 * _QUARTER),
        ("half_after_hour", _HALF),
        ("quarter_before_hour", -_QUARTER),
        ("quarter_after_hour", _QUARTER),
    ):
        if found is not None and mark in found.values:
            return found.end, minutes
    if found is not None and own.code in _LATER and not {"past", "to"}.isdisjoint(found.values):
        counted = count_at(units, found.end, own.code)
        if counted is not None and 0 < counted.value < _HOUR_MIN:
            end = _past_minute(units, counted.end, own)
            return end, int(counted.value) * (1 if "past" in found.values else -1)
    return _plain_minutes(units, position, own)


def _past_minute(units: Sequence[Unit], end: int, own: TimeVocabulary) -> int:
    """Return the end of the unit that may follow them: las ocho menos cinco minutos."""
    unit = own.units.at(units, end)
    return unit.end if unit is not None and unit.values[0] == "min" else end


def _plain_minutes(units: Sequence[Unit], position: int, own: TimeVocabulary) -> tuple[int, int]:
    counted = count_at(units, position, own.code)
    if counted is None or counted.value % 1 or not 0 <= counted.value < _HOUR_MIN:
        return position, 0
    if (
        position < len(units)
        and units[position].kind is UnitKind.NUMBER
        and own.code in {"en", "es"}
    ):
        return position, 0
    end = _past(units, counted.end, own, "minute_mark")
    if end == counted.end and _must_be_marked(own):
        return position, 0
    return end, int(counted.value)


def _must_be_marked(own: TimeVocabulary) -> bool:
    return own.code in {"zh", "ja", "ko"}


def _past(units: Sequence[Unit], position: int, own: TimeVocabulary, mark: str) -> int:
    found = own.marks.at(units, position)
    return found.end if found is not None and mark in found.values else position


def daypart_at(units: Sequence[Unit], position: int, own: TimeVocabulary) -> FoundForm | None:
    """Return the part of the day that begins here: 零点 is midnight, and 零点五 half of one."""
    found = own.dayparts.at(units, position)
    if found is None or own.code not in _MARKS_DECIMALS:
        return found
    is_hour = _past(units, found.end - 1, own, "hour_mark") == found.end
    return None if is_hour and count_at(units, found.end, own.code) is not None else found


def _sound(hour: int, minute: int, end: int, *, is_open: bool) -> ClockTime | None:
    if not (0 <= hour <= _DAY_HOURS and 0 <= minute < _HOUR_MIN):
        return None
    return ClockTime(hour % _DAY_HOURS if minute else hour, minute, end, is_open)
