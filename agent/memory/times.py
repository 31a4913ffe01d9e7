"""Relative times in texts of six languages: yesterday, last week, three days ago, on Monday.

English, German, Spanish, French, Chinese and Japanese; each becomes a span of days, counted from
when the text was said. Dates that are written out are the matter of `cues`.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from msgspec import Struct

_DAY = timedelta(days=1)
_LONGER_THAN_A_MONTH = 32 * _DAY
_WEEK_DAYS, _SATURDAY = 7, 5
# "Three weeks ago" is told of by the week, "three months ago" by the month
_SLACK = {"day": 0, "week": 3, "month": 15}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30}

# "Hier" is yesterday in French, and here in German and Dutch, which these words are of
_HIER = (
    r"(?s:\A(?!.*\b(?:ist|sind|bin|war|das|der|die|den|dem|wie|was|wo|wer|ich|wir|nicht|eine?|gibt"
    r"|hast?|habe|und|im|is|het|een|wat|hoe|ik|waar|niet|er|zijn|van)\b).*\bhier\b)"
)
_DAYS = {
    -2: r"\bday before yesterday\b|\bvorgestern\b|\banteayer\b|\bavant-hier\b|前天|一昨日|おととい",
    2: r"\bday after tomorrow\b|\bübermorgen\b|\bpasado mañana\b"
    r"|\baprès-demain\b|后天|明後日|あさって",
    -1: r"\byesterday\b|\blast night\b|\bgestern\b|\bayer\b"
    rf"|\banoche\b|{_HIER}|昨天|昨晚|昨日|きのう|昨夜",
    # In the morning, this morning and each morning are another time
    1: r"\btomorrow\b|(?<!guten )(?<!am )(?<!heute )(?<!diesen )(?<!jeden )\bmorgen\b"
    r"|(?<!la )(?<!esta )(?<!cada )\bmañana\b|\bdemain\b|明天|明日|あした",
    0: r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\bheute\b|\bhoy\b"
    r"|\besta (?:mañana|tarde|noche)\b|\baujourd'hui\b"
    r"|\bce (?:matin|soir)\b|今天|今晚|今早|今日|きょう|今朝|今夜",
}
_WEEKENDS = {
    -1: r"\blast weekend\b|\bletzte[sn]? wochenende\b|\bfin de semana pasado\b|\bweek-end dernier\b"
    r"|上个?周末|先週末",
    0: r"\bthis weekend\b|\bdiese[sm]? wochenende\b"
    r"|\beste fin de semana\b|\bce week-end\b|这个?周末|今週末",
}
_WEEKS = {
    -1: r"\blast week\b|\b(?:letzte|vorige|vergangene)[rn]? woche\b|\bsemana pasada\b"
    r"|\bsemaine dernière\b|上周|上个?星期|先週",
    0: r"\bthis week\b|\bdiese[r]? woche\b|\besta semana\b"
    r"|\bcette semaine\b|这周|本周|这个?星期|今週",
    1: r"\bnext week\b|\bnächste[rn]? woche\b|\bpróxima semana\b|\bsemana que viene\b"
    r"|\bsemaine prochaine\b|下周|下个?星期|来週",
}
_MONTHS = {
    -1: r"\blast month\b|\b(?:letzte|vorige|vergangene)[nm]? monat\b|\bmes pasado\b"
    r"|\bmois dernier\b"
    r"|上个?月|先月",
    0: r"\bthis month\b|\bdiese[nm]? monat\b|\beste mes\b|\bce mois\b|这个?月|本月|今月",
}
_NUMBERS = (
    "a an one ein eine einem einer un una une 一",
    "two couple zwei dos deux 两 二",
    "three drei tres trois 三",
    "four vier cuatro quatre 四",
    "five fünf cinco cinq 五",
    "six sechs seis six 六",
    "seven sieben siete sept 七",
    "eight acht ocho huit 八",
    "nine neun nueve neuf 九",
    "ten zehn diez dix 十",
)
_NUMBER_OF = {word: count for count, words in enumerate(_NUMBERS, 1) for word in words.split()}
_COUNT = r"(\d{1,3}|[^\W\d]+?)"
_AGO = (
    rf"\b{_COUNT} (days?|weeks?|months?) ago\b",
    rf"\bvor {_COUNT} (tag|woche|monat)\w*",
    rf"\bhace {_COUNT} (día|semana|mes)\w*",
    rf"\bil y a {_COUNT} (jour|semaine|mois)\w*",
    r"(\d{1,3}|[一两二三四五六七八九十])(天|周|个?星期|个月)(?:之|以)?前",
    r"(\d{1,3}|[一二三四五六七八九十])(日|週間|か月|ヶ月)前",
)
_UNITS = {
    "day": ("day", "tag", "día", "jour", "天", "日"),
    "week": ("week", "woche", "semana", "semaine", "周", "星期", "个星期", "週間"),
    "month": ("month", "monat", "mes", "mois", "个月", "か月", "ヶ月"),
}
_WEEKDAYS = (
    r"\bmondays?\b|\bmontags?\b|\blunes\b|\blundis?\b|(?:周|星期)一|月曜",
    r"\btuesdays?\b|\bdienstags?\b|\bmartes\b|\bmardis?\b|(?:周|星期)二|火曜",
    r"\bwednesdays?\b|\bmittwochs?\b|\bmiércoles\b|\bmercredis?\b|(?:周|星期)三|水曜",
    r"\bthursdays?\b|\bdonnerstags?\b|\bjueves\b|\bjeudis?\b|(?:周|星期)四|木曜",
    r"\bfridays?\b|\bfreitags?\b|\bviernes\b|\bvendredis?\b|(?:周|星期)五|金曜",
    r"\bsaturdays?\b|\bsamstags?\b|\bsábados?\b|\bsamedis?\b|(?:周|星期)六|土曜",
    r"\bsundays?\b|\bsonntags?\b|\bdomingos?\b|\bdimanches?\b|(?:周|星期)[日天]|日曜",
)


class TimeSpan(Struct, frozen=True):
    """A stretch of time; `end_s` is no part of it."""

    start_s: float
    end_s: float

    def meets(self, other: "TimeSpan") -> bool:
        return self.start_s < other.end_s and other.start_s < self.end_s


def span_of(text: str, said_at_s: float, *, with_weekdays: bool = True) -> TimeSpan | None:
    """Return the time that a text names, counted from when it was said; None if it names none.

    Args:
        with_weekdays: "Monday" is the last one before; in a plan it would be the next one.
    """
    try:
        day = datetime.fromtimestamp(said_at_s).astimezone().replace(hour=0, minute=0, second=0)
        day = day.replace(microsecond=0)
        return next(_spans(text, day, with_weekdays=with_weekdays), None)
    except (ValueError, OverflowError, OSError):
        return None


def said_span(content: str, said_at_s: float) -> TimeSpan:
    """Return the time that a memory is about: what it names, else when it was said."""
    return span_of(content, said_at_s, with_weekdays=False) or TimeSpan(said_at_s, said_at_s + 1)


def _spans(text: str, day: datetime, *, with_weekdays: bool) -> Iterator[TimeSpan]:
    for pattern in _compiled(_AGO):
        if found := pattern.search(text):
            yield from _ago(found[1].lower(), found[2].lower(), day)
    for span, name in (
        (_weekend, "weekends"),
        (_week, "weeks"),
        (_month, "months"),
        (_day, "days"),
    ):
        for offset, pattern in _table(name):
            if pattern.search(text):
                yield span(day, offset)
    if with_weekdays:
        yield from _weekday(text, day)


def _weekend(day: datetime, offset: int) -> TimeSpan:
    saturday = day + (offset * _WEEK_DAYS + _SATURDAY - day.weekday()) * _DAY
    return _days(saturday, saturday + 2 * _DAY)


def _week(day: datetime, offset: int) -> TimeSpan:
    monday = day + (offset * _WEEK_DAYS - day.weekday()) * _DAY
    return _days(monday, monday + _WEEK_DAYS * _DAY)


def _day(day: datetime, offset: int) -> TimeSpan:
    return _days(day + offset * _DAY, day + (offset + 1) * _DAY)


def _weekday(text: str, day: datetime) -> Iterator[TimeSpan]:
    for number, pattern in enumerate(_compiled(_WEEKDAYS)):
        if pattern.search(text):
            back = (day.weekday() - number) % _WEEK_DAYS or _WEEK_DAYS
            yield _days(day - back * _DAY, day - (back - 1) * _DAY)


def _ago(count: str, unit: str, day: datetime) -> Iterator[TimeSpan]:
    number = int(count) if count.isdecimal() else _NUMBER_OF.get(count, 0)
    kind = next((name for name, words in _UNITS.items() if unit.removesuffix("s") in words), None)
    kind = kind or next((name for name, words in _UNITS.items() if unit in words), None)
    if number and kind:
        then = day - number * _UNIT_DAYS[kind] * _DAY
        slack = _SLACK[kind] * _DAY
        yield _days(then - slack, then + _DAY + slack)


def _month(day: datetime, offset: int) -> TimeSpan:
    first = day.replace(day=1)
    if offset:
        first = (first - _DAY).replace(day=1)
    after = (first + _LONGER_THAN_A_MONTH).replace(day=1)
    return _days(first, after)


def _days(start: datetime, end: datetime) -> TimeSpan:
    return TimeSpan(start.timestamp(), end.timestamp())


_TABLES = {"weekends": _WEEKENDS, "weeks": _WEEKS, "months": _MONTHS, "days": _DAYS}


@cache
def _table(name: str) -> list[tuple[int, re.Pattern[str]]]:
    found = _TABLES[name].items()
    return [(offset, re.compile(pattern, re.IGNORECASE)) for offset, pattern in found]


@cache
def _compiled(patterns: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
