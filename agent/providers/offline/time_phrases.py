"""Phrase of a sentence that tells when or for how long, and the sentence without it."""

import enum
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agent.providers.offline.clocktimes import ClockTime, clocktime_at, daypart_at
from agent.providers.offline.durations import duration_at
from agent.providers.offline.time_vocabulary import (
    UNIT_S,
    TimeVocabulary,
    time_vocabulary,
    units_of,
)
from agent.providers.offline.units import UNSPACED, Unit, UnitKind
from agent.providers.offline.whole_times import (
    AGAIN,
    BARE_LASTS,
    WEEKEND,
    WEEKENDS,
    Stretch,
    is_part,
)

_MINUTE_S = 60
_ENDS = ".!?;。！？"
_LINKS = frozenset({",", "、", "，", "の", "的", "에"})
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAWN = "06:00"


class TimeKind(enum.Enum):
    """Meaning of a phrase about time."""

    # After so long
    IN = "in"
    # At a time
    AT = "at"
    # Again and again
    EVERY = "every"
    # For so long
    FOR = "for"
    # Until a time
    UNTIL = "until"


class TimePhrase(Struct, frozen=True):
    """Phrase about time.

    Args:
        told: as tools take it: `tomorrow 08:00`, `day 07:00`.
        rest: the sentence without it.
        has_time: a time of day was said, and not only a day.
        is_part: what stands beside it makes it another day, such as December 24, next week.
        is_doubtful: it may be a length or a time of day: 8 uur, 8 heures.
        is_number: it may be any number: à 21.
        bare: the place in the text of a length that no word tells the use of.
    """

    kind: TimeKind
    seconds: float = 0.0
    told: str = ""
    rest: str = ""
    has_time: bool = True
    is_part: bool = False
    is_doubtful: bool = False
    is_number: bool = False
    bare: tuple[int, int] | None = None


_OF_DAYS = frozenset({TimeKind.AT, TimeKind.EVERY})


class _Phrase(Struct, frozen=True):
    when: TimePhrase
    start: int
    end: int


def time_phrase_of(text: str, code: str, *kinds: TimeKind) -> TimePhrase | None:
    """Return the first phrase of these kinds in a text; None if there is none."""
    units = units_of(text)
    own = time_vocabulary(code)
    position = 0
    while position < len(units):
        phrase = _phrase_at(units, position, own)
        if phrase is not None and phrase.when.kind in kinds:
            when = _with_rest(phrase, text, units)
            return replace(when, is_part=_is_part(units, phrase, text, own))
        # Inside a phrase of another kind no other begins
        position = position + 1 if phrase is None else phrase.end
    return None


def _with_rest(phrase: _Phrase, text: str, units: Sequence[Unit]) -> TimePhrase:
    start, end = units[phrase.start].start, units[phrase.end - 1].end
    before, after = text[:start].rstrip(" ,、，"), text[end:].lstrip(" ,、，")
    parted = before and after and after[0] not in _ENDS
    spaced = " " if parted and text[start - 1 : start].isspace() else ""
    when = phrase.when
    rest = f"{before}{spaced}{after}".strip()
    return replace(when, rest=rest)


def _is_part(units: Sequence[Unit], phrase: _Phrase, text: str, own: TimeVocabulary) -> bool:
    if phrase.when.kind not in _OF_DAYS:
        return False

    def is_time(at: int) -> bool:
        return _dated(units, at, own) is not None

    return is_part(Stretch(units, phrase.start, phrase.end, own, is_time), text)


def _phrase_at(units: Sequence[Unit], position: int, own: TimeVocabulary) -> _Phrase | None:
    return (
        _lasting(units, position, own)
        or _dated(units, position, own)
        or _alone(units, position, own)
    )


def _alone(units: Sequence[Unit], position: int, own: TimeVocabulary) -> _Phrase | None:
    """Read a length without a word for its use: mach die Pumpe 5 Minuten an."""
    duration = None if own.code in BARE_LASTS else duration_at(units, position, own.code)
    if duration is None or duration.by_article or duration.is_more:
        # Wait a minute; five more minutes
        return None
    place = units[position].start, units[duration.end - 1].end
    when = TimePhrase(TimeKind.FOR, duration.seconds, bare=place)
    return _Phrase(when, position, duration.end)


def _lasting(units: Sequence[Unit], position: int, own: TimeVocabulary) -> _Phrase | None:
    """Read a duration with the word that tells its use: in, for, every."""
    before = own.tags.at(units, position)
    values = before.values if before else ()
    start = before.end if before else position
    if before is not None and "every" in values and (again := _every_so_often(units, start, own)):
        return _Phrase(again[0], position, again[1])
    if "wait" in values and (waited := duration_at(units, start, own.code)) is not None:
        after = own.tags.at(units, waited.end)
        end = after.end if after is not None and "in_after" in after.values else waited.end
        return _Phrase(TimePhrase(TimeKind.IN, waited.seconds), position, end)
    for tag, kind in (("in", TimeKind.IN), ("during", TimeKind.FOR)):
        duration = duration_at(units, start, own.code) if tag in values else None
        if duration is not None:
            clock = clocktime_at(units, start, own, bare=True) if "or_clock" in values else None
            doubtful = clock is not None and clock.end == duration.end
            when = TimePhrase(kind, duration.seconds, is_doubtful=doubtful)
            return _Phrase(when, position, duration.end)
    return _bare(units, position, own)


def _bare(units: Sequence[Unit], position: int, own: TimeVocabulary) -> _Phrase | None:
    duration = duration_at(units, position, own.code)
    if duration is None:
        return None
    after = own.tags.at(units, duration.end)
    for tag, kind in (("in_after", TimeKind.IN), ("during_after", TimeKind.FOR)):
        if after is not None and tag in after.values:
            return _Phrase(TimePhrase(kind, duration.seconds), position, after.end)
    if own.code not in BARE_LASTS or units[duration.end - 1].kind not in UNSPACED:
        return None
    return _Phrase(TimePhrase(TimeKind.FOR, duration.seconds), position, duration.end)


def _every_so_often(
    units: Sequence[Unit], start: int, own: TimeVocabulary
) -> tuple[TimePhrase, int] | None:
    """Read "every 30 minutes", "every hour"."""
    duration = duration_at(units, start, own.code)
    if duration is not None:
        seconds, end = duration.seconds, duration.end
    else:
        unit = own.units.at(units, start)
        if unit is None or unit.values[0] not in {"h", "min"}:
            return None
        seconds, end = UNIT_S[unit.values[0]], unit.end
    if seconds % _MINUTE_S or own.days.at(units, start) is not None:
        return None
    return TimePhrase(TimeKind.EVERY, seconds, f"{int(seconds // _MINUTE_S)} minutes"), end


class _Parts(Struct):
    """Parts of a day and a time, as far as they are read."""

    every: bool = False
    day: str = ""
    part: str = ""
    part_hour: int = 0
    clock: ClockTime | None = None
    until: bool = False
    has_at: bool = False
    end: int = 0
    seen: list[str] = field(default_factory=list)


def _dated(units: Sequence[Unit], position: int, own: TimeVocabulary) -> _Phrase | None:
    """Read a day, a part of it and a time of it, in any order."""
    parts = _Parts(end=position)
    while _take(units, parts, own):
        pass
    when = _said(parts)
    if when is None or when.kind is not TimeKind.AT or parts.seen != ["clock"]:
        return None if when is None else _Phrase(when, position, parts.end)
    length = None if parts.has_at else duration_at(units, position, own.code)
    if length is not None and length.end >= parts.end:
        # 8 heures, with no word before it
        lasts = TimePhrase(TimeKind.FOR, length.seconds, is_doubtful=True)
        return _Phrase(lasts, position, length.end)
    last = units[parts.end - 1]
    number = parts.has_at and last.kind is UnitKind.NUMBER and ":" not in last.text
    return _Phrase(replace(when, is_number=number), position, parts.end)


def _take(units: Sequence[Unit], parts: _Parts, own: TimeVocabulary) -> bool:
    """Read one more part; return true if there was one."""
    position = parts.end
    if position >= len(units):
        return False
    if parts.seen and units[position].text in _LINKS:
        position += 1
    return any(
        take(units, position, parts, own)
        for take in (_take_every_day, _take_every, _take_day, _take_part, _take_clock)
    )


def _take_every_day(units: Sequence[Unit], at: int, parts: _Parts, own: TimeVocabulary) -> bool:
    found = own.every_day.at(units, at)
    if found is None or parts.every:
        return False
    told = found.values[0]
    # A day by its name, or a part of every day with its hour
    parts.every, parts.day = True, "day" if " " in told else told
    if " " in told:
        _note_part(parts, told)
    return _seen(parts, "every", found.end)


def _take_every(units: Sequence[Unit], at: int, parts: _Parts, own: TimeVocabulary) -> bool:
    found = own.tags.at(units, at)
    if found is None or "every" not in found.values or parts.every:
        return False
    day = own.days.at(units, found.end)
    part = daypart_at(units, found.end, own)
    if day is not None and not day.values[0].startswith("+"):
        parts.every = True
        parts.day = WEEKEND if day.values[0] == WEEKENDS else day.values[0]
        return _seen(parts, "every", day.end)
    if part is not None:
        parts.every, parts.day = True, "day"
        _note_part(parts, part.values[0])
        return _seen(parts, "every", part.end)
    return False


def _take_day(units: Sequence[Unit], at: int, parts: _Parts, own: TimeVocabulary) -> bool:
    found = own.days.at(units, at)
    if found is None or parts.day:
        return False
    day = found.values[0]
    if day == WEEKEND:
        return False
    if day == WEEKENDS:
        parts.every, day = True, WEEKEND
    if day in AGAIN:
        # Daily says that it comes again; a day alone does not
        if day == "day" and own.code in BARE_LASTS:
            return False
        if own.code not in BARE_LASTS and _length(units, at, found.end) < _DAILY_CHARS:
            return False
        parts.every = True
    parts.day = day
    same = own.dayparts.at(units, at)
    if same is not None and same.end == found.end and not parts.part:
        # Tonight says both
        _note_part(parts, same.values[0])
    return _seen(parts, "day", found.end)


# No word for a day alone is as long as one for daily
_DAILY_CHARS = 5


def _length(units: Sequence[Unit], start: int, end: int) -> int:
    return sum(len(unit.text) for unit in units[start:end])


def _take_part(units: Sequence[Unit], at: int, parts: _Parts, own: TimeVocabulary) -> bool:
    found = daypart_at(units, at, own)
    if found is None or parts.part:
        return False
    _note_part(parts, found.values[0])
    return _seen(parts, "part", _past_point(units, found.end))


def _past_point(units: Sequence[Unit], end: int) -> int:
    """Return the end of an abbreviation with its last point: a.m."""
    is_short = [unit.text for unit in units[end - 2 : end + 1]] == [".", "m", "."]
    return end + is_short


def _note_part(parts: _Parts, told: str) -> None:
    part, hour = told.split()
    parts.part, parts.part_hour = part, int(hour)


def _take_clock(units: Sequence[Unit], at: int, parts: _Parts, own: TimeVocabulary) -> bool:
    if parts.clock is not None:
        return False
    before = own.tags.at(units, at)
    values = before.values if before else ()
    led = before is not None and not {"at", "until", "at_hour"}.isdisjoint(values)
    start = before.end if before is not None and led else at
    # The pump has 2 valves: without its accent, à is before hours alone
    is_told = led and "at_hour" not in values
    bare = is_told or bool({"every", "part"} & set(parts.seen))
    found = clocktime_at(units, start, own, bare=bare)
    if found is None:
        part = daypart_at(units, start, own) if led else None
        if part is None:
            return False
        _note_part(parts, part.values[0])
        parts.until = "until" in values
        return _seen(parts, "part", part.end)
    parts.clock, parts.has_at = found, led
    parts.until = parts.until or "until" in values
    return _seen(parts, "clock", _past_after(units, found.end, parts, own))


def _past_after(units: Sequence[Unit], end: int, parts: _Parts, own: TimeVocabulary) -> int:
    """Return the end of the word that follows a time where its language says so: に, まで, 까지."""
    after = own.tags.at(units, end)
    if after is None:
        return end
    if "until_after" in after.values:
        parts.until = True
        return after.end
    return after.end if "at_after" in after.values else end


def _seen(parts: _Parts, what: str, end: int) -> bool:
    parts.seen.append(what)
    parts.end = end
    return True


def _said(parts: _Parts) -> TimePhrase | None:
    told = _time_of(parts)
    ends_day = parts.clock is not None and parts.clock.ends_day
    if parts.every:
        day = _after(parts.day) if ends_day and parts.day in _WEEK else parts.day
        return TimePhrase(TimeKind.EVERY, 0.0, f"{day} {told or '08:00'}", has_time=bool(told))
    if not told and not parts.day:
        return None
    if parts.until:
        return TimePhrase(TimeKind.UNTIL, told=told) if told else None
    fixed = parts.day and not parts.day.startswith("+0")
    if not told:
        return (
            TimePhrase(TimeKind.AT, told=f"{_day(parts.day)} 08:00", has_time=False)
            if fixed
            else None
        )
    if parts.clock is None and not parts.day and parts.part not in {"noon", "midnight"}:
        # In the morning, and no more, is no time
        return None
    day = _after(parts.day) if ends_day and parts.day else _night_day(parts, told)
    return TimePhrase(TimeKind.AT, told=f"{_day(day)} {told}".strip())


def _night_day(parts: _Parts, told: str) -> str:
    """Return the day of a time: the night of a day ends after it."""
    is_night, is_today = parts.part in {"evening", "night"}, parts.day == "+0"
    if told.startswith("00:") and parts.day and (is_night or is_today):
        return _after(parts.day)
    # One o'clock tonight is the one that comes, also for who says it after midnight
    return "" if is_night and is_today and told < _DAWN else parts.day


def _after(day: str) -> str:
    if day.startswith("+"):
        return f"+{int(day[1:]) + 1}"
    return _WEEK[(_WEEK.index(day) + 1) % len(_WEEK)]


def _day(day: str) -> str:
    return {"+0": "today", "+1": "tomorrow"}.get(day, day)


def _time_of(parts: _Parts) -> str:
    if parts.clock is None:
        return f"{parts.part_hour:02}:00" if parts.part else ""
    return parts.clock.within(parts.part).told if parts.part else parts.clock.told
