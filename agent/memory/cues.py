"""Cues of a question besides its words: person, time and kind of answer.

Only surface signs of a few languages; where none is found, nothing is said and nothing changes.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from agent.memory.times import TimeSpan, said_span, span_of

# A month that follows the one asked for: things are told of after they happened
_MONTH_LATER = 0.15
_MONTH_HIT = 0.5
_WEEK_HIT = 0.7
_OTHER_DAY = 0.3
_OTHER_YEAR = 0.3
_WEEK_DAYS = 7
_MONTHS = 12
# "Mei", "Dr. Tom Baker": more words before a colon are a sentence
_SPEAKER = re.compile(r"([^\W\d][\w.'-]*(?: [^\W\d][\w.'-]*){0,2}): ")
_QUESTION_MARKS = re.compile(r"[?？¿؟]")
_WORD = re.compile(r"\w+")

_MONTH_NAMES = (
    "january januar enero",
    "february februar febrero",
    "march märz marzo",
    "april abril",
    "may mai mayo",
    "june juni junio",
    "july juli julio",
    "august agosto",
    "september septiembre",
    "october oktober octubre",
    "november noviembre",
    "december dezember diciembre",
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
# "may" without a capital is a verb
_CAPITALISED_MAY = re.compile(r"\bMay\b")
# Nor is it the month where somebody asks for leave
_MAY_I = re.compile(r"(?:^|[.!?,;:] )May (?:I|we|you|he|she|it|they|the|my|our|\w+(?:one|body))\b")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_HAN_MONTH = re.compile(r"(\d{1,2})\s?[月월]")
_YEAR = re.compile(r"\b(?:19|20)\d\d(?!\d)")
_DAY = re.compile(r"(?<!\d)([12]?\d|3[01])(?:st|nd|rd|th|\.)?(?=\s|,|\?|\Z|日|일)")

_TIME_ASKED = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|year|month|day|time)\b|\bwann\b|\bcuándo\b"
    r"|\bwie lange\b|什么时候|哪[一]?[年月天]|何时|いつ|언제",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|weeks?|weekends?|months?|years?|days?"
    r"|morning|evening|recently|soon|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|gestern|heute|morgen|woche|monat|jahr|ayer|hoy|mañana|semana|mes|año)\b"
    r"|昨天|今天|明天|[年月日]|去年|昨日|明日|어제|오늘|내일",
    re.IGNORECASE,
)
_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much|often|old)\b|\bwhat number\b|\bwie ?viele?\b|\bcuánt[oa]s?\b"
    r"|多少|几[个次]|いくつ|何[人回個]|몇",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|few|couple|several"
    r"|many|dozen|hundred|thousand)\b",
    re.IGNORECASE,
)
_PERSON_ASKED = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
# A capital inside a sentence
_PERSON = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_KINDS = ((_TIME_ASKED, _TIME), (_NUMBER_ASKED, _NUMBER), (_PERSON_ASKED, _PERSON))


class Day(Struct, frozen=True):
    """A date that a question names; unnamed parts are None."""

    months: frozenset[int]
    year: int | None = None
    day: int | None = None

    def nearness(self, at_s: float) -> float:
        """Return how well a memory's time fits, 0..1; people tell of an event a little later."""
        try:
            # As people where the Pi is name their days
            then = datetime.fromtimestamp(at_s).astimezone()
        except (ValueError, OverflowError, OSError):
            return 0.0
        fits = 0.0
        if then.month in self.months:
            fits = _MONTH_HIT if self.day is None else _day_fits(then.day - self.day)
        elif (then.month - 2) % _MONTHS + 1 in self.months:
            fits = _MONTH_LATER
        return fits if self.year in {None, then.year} else fits * _OTHER_YEAR


class Cues(Struct, frozen=True):
    """Cues in a question."""

    words: frozenset[str]
    day: Day | None
    answer: re.Pattern[str] | None
    # Relative to now: "yesterday", "last week"
    span: TimeSpan | None = None

    def is_then(self, content: str, said_at_s: float) -> bool:
        """Return true if the content is about the time that the question names."""
        return self.span is not None and self.span.meets(said_span(content, said_at_s))

    def named(self, speakers: Iterable[str]) -> frozenset[str]:
        """Return the speakers whom the question names."""
        return frozenset(one for one in speakers if one and set(_words(one)) <= self.words)

    def has_answer(self, content: str) -> bool:
        """Return true if the content has the time, number or name that is asked for."""
        return self.answer is not None and self.answer.search(content) is not None


def cues_of(question: str, now_s: float | None = None) -> Cues:
    kinds = (answer for asked, answer in _KINDS if asked.search(question))
    words = frozenset(word.removesuffix("'s") for word in _words(question))
    day = _day_of(question)
    # A date that is written out says more
    span = span_of(question, now_s) if now_s is not None and day is None else None
    return Cues(words, day, next(kinds, None), span)


@lru_cache(maxsize=512)
def speaker_of(content: str) -> str:
    """Return the speaker if the content begins with a name and a colon; else an empty text."""
    found = _SPEAKER.match(content[:100])
    return found[1].casefold() if found else ""


def is_question(content: str) -> bool:
    return _QUESTION_MARKS.search(content) is not None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _day_of(question: str) -> Day | None:
    """Return the day; only if a month is named, because many memories contain a year."""
    iso = _ISO.search(question)
    if iso:
        year, month, day = iso.groups()
        return Day(frozenset({int(month)}), int(year), int(day) if day else None)
    months = {_MONTH_OF[word] for word in _words(question) if word in _MONTH_OF}
    if "may" in _words(question) and not _CAPITALISED_MAY.search(_MAY_I.sub("", question)):
        months.discard(5)
    months |= {int(month) for month in _HAN_MONTH.findall(question)}
    if not months:
        return None
    year_found = _YEAR.search(question)
    rest = _HAN_MONTH.sub(" ", _YEAR.sub(" ", question))
    day_found = _DAY.search(rest)
    return Day(
        frozenset(months),
        int(year_found[0]) if year_found else None,
        int(day_found[1]) if day_found else None,
    )


def _day_fits(days_later: int) -> float:
    if days_later == 0:
        return 1.0
    return _WEEK_HIT if 0 < days_later <= _WEEK_DAYS else _OTHER_DAY
