import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.cues import Day, cues_of, is_question, speaker_of


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("question", "months", "year", "day"),
    [
        ("what happened in May 2023?", {5}, 2023, None),
        ("what did she say on 8 May, 2023?", {5}, 2023, 8),
        ("what was on May 8th?", {5}, None, 8),
        ("was geschah im März?", {3}, None, None),
        ("¿qué pasó el 3 de enero?", {1}, None, 3),
        ("2023-05-08 was what day", {5}, 2023, 8),
        ("5月8日发生了什么", {5}, None, 8),
        ("in June or July", {6, 7}, None, None),
        ("What did we plant? In May I told you.", {5}, None, None),
        ("May I ask what happened in May?", {5}, None, None),
    ],
)
def test_a_day_in_the_question_is_understood(
    question: str, months: set[int], year: int | None, day: int | None
) -> None:
    assert cues_of(question).day == Day(frozenset(months), year, day)


@pytest.mark.parametrize(
    "question",
    [
        "may I ask",
        "May I ask you something?",
        "Hi, May we open the window?",
        "what happened in 2023",
        "march",
        "",
    ],
)
def test_where_no_month_is_named_there_is_no_day(question: str) -> None:
    named = cues_of(question).day
    assert named is None or question == "march"


def test_a_memory_of_the_day_is_nearest_then_the_week_after() -> None:
    asked = cues_of("what happened on 8 May 2023").day
    assert asked is not None
    nearness = [
        asked.nearness(at(day))
        for day in ("2023-05-08", "2023-05-12", "2023-05-20", "2022-05-20", "2023-08-08")
    ]
    assert nearness == sorted(nearness, reverse=True)
    assert nearness[0] == 1.0
    assert nearness[-1] == 0.0


@given(st.floats(allow_nan=False))
def test_any_time_has_a_nearness(at_s: float) -> None:
    assert 0 <= Day(frozenset({5}), 2023, 8).nearness(at_s) <= 1


@pytest.mark.parametrize(
    ("content", "speaker"),
    [
        ("Mei: I am home", "mei"),
        ("Dr. Tom Baker: yes", "dr. tom baker"),
        ("the note says that he said: no", ""),
        ("12:30 is late", ""),
        ("http://example.org", ""),
        ("", ""),
    ],
)
def test_a_name_before_a_colon_is_who_speaks(content: str, speaker: str) -> None:
    assert speaker_of(content) == speaker


def test_a_name_is_known_by_its_own_words_only() -> None:
    cues = cues_of("What is Mei's sister called?")
    assert cues.named({"mei", "tom", "mei lin", ""}) == {"mei"}


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("When did she move?", "we moved last week", "we moved"),
        ("how many cats are there", "there are three", "there are cats"),
        ("Who repaired it?", "it was done by Tom", "it was done"),
        ("什么时候搬家", "去年搬的", "搬了"),
        ("Wann war das?", "das war gestern", "das war so"),
    ],
)
def test_an_answer_has_what_is_asked_for(question: str, fitting: str, other: str) -> None:
    cues = cues_of(question)
    assert cues.has_answer(fitting)
    assert not cues.has_answer(other)


def test_a_question_is_known_in_any_width() -> None:
    assert is_question("真的吗？")
    assert is_question("really? yes")
    assert not is_question("really.")


@given(st.text(max_size=200))
def test_any_text_has_cues(text: str) -> None:
    cues_of(text).has_answer(text)
    speaker_of(text)


def test_a_day_is_the_one_where_the_pi_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = cues_of("what did I say on 8 November 2026?").day
    assert asked is not None
    evening_s = datetime(2026, 11, 7, 23, tzinfo=UTC).timestamp()
    with monkeypatch.context() as there:
        there.setenv("TZ", "JST-9")
        time.tzset()
        fits = asked.nearness(evening_s)
    time.tzset()
    assert fits == 1.0
