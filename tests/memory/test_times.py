from datetime import datetime, timedelta

import pytest

from agent.memory.cues import cues_of
from agent.memory.times import TimeSpan, said_span, span_of

# A Wednesday, at noon where the test runs
NOW = datetime(2026, 7, 15, 12).astimezone()
NOW_S = NOW.timestamp()


def days(first: int, last: int) -> TimeSpan:
    """From the day so many days back to the end of the other one."""
    midnight = NOW.replace(hour=0)
    start, end = (midnight - timedelta(days=back) for back in (first, last - 1))
    return TimeSpan(start.timestamp(), end.timestamp())


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did I do yesterday?", 1, 1),
        ("the day before yesterday", 2, 2),
        ("what is on today?", 0, 0),
        ("last week", 9, 3),
        ("what happened on Monday?", 2, 2),
        ("three days ago", 3, 3),
        ("was war gestern?", 1, 1),
        ("vorgestern", 2, 2),
        ("vor zwei Tagen", 2, 2),
        ("letztes Wochenende", 4, 3),
        ("¿qué hice ayer?", 1, 1),
        ("was habe ich heute Morgen gesagt?", 0, 0),
        ("was ist morgen?", -1, -1),
        ("¿qué te dije esta mañana?", 0, 0),
        ("¿qué hay mañana por la mañana?", -1, -1),
        ("hace 2 semanas", 17, 11),
        ("qu'est-ce que j'ai dit hier ?", 1, 1),
        ("où es-tu allé hier soir ?", 1, 1),
        ("il y a trois jours", 3, 3),
        ("la semaine dernière", 9, 3),
        ("昨天我做了什么？", 1, 1),
        ("三天前", 3, 3),
        ("一昨日は何を？", 2, 2),
        ("先週", 9, 3),
    ],
)
def test_a_named_time_is_a_span_of_days(text: str, first: int, last: int) -> None:
    assert span_of(text, NOW_S) == days(first, last)


@pytest.mark.parametrize(
    "text",
    [
        "where is the key?",
        "guten Morgen",
        "jeden Morgen um sieben",
        "wie warm ist es hier?",
        "hoe warm is het hier?",
        "por la mañana",
        "cada mañana",
        "ago",
        "x days ago",
        "",
    ],
)
def test_what_names_no_time_has_no_span(text: str) -> None:
    assert span_of(text, NOW_S) is None


def test_last_month_has_its_own_length() -> None:
    found = span_of("last month", NOW_S)
    assert found is not None
    start, end = (datetime.fromtimestamp(at_s, NOW.tzinfo) for at_s in (found.start_s, found.end_s))
    assert (start.month, start.day, end.month, end.day) == (6, 1, 7, 1)


def test_a_memory_is_about_the_time_that_it_names() -> None:
    yesterday = span_of("yesterday", NOW_S)
    assert yesterday is not None
    assert yesterday.meets(said_span("the boiler broke yesterday", NOW_S))
    assert not yesterday.meets(said_span("the boiler broke today", NOW_S))
    assert yesterday.meets(said_span("the boiler broke", NOW_S - 86_400.0))


def test_a_written_date_says_more_than_a_relative_one() -> None:
    assert cues_of("what did I do last week, on 8 May 2023?", NOW_S).span is None


@pytest.mark.parametrize("at_s", [float("nan"), float("inf"), 1e20, -1e20])
def test_a_time_that_is_none_breaks_nothing(at_s: float) -> None:
    assert span_of("yesterday", at_s) is None
