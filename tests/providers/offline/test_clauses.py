"""Clauses and how they are meant."""

import pytest

from agent.providers.offline.clauses import Clause, clauses_of
from agent.providers.offline.pieces import analyse


def clauses(said: str, code: str = "en") -> tuple[Clause, ...]:
    return clauses_of(analyse(said, code))


@pytest.mark.parametrize(
    ("said", "code", "things"),
    [
        ("turn on the led, then read the temperature", "en", ["led", "temperature"]),
        ("Hello. Turn on the led!", "en", ["led"]),
        ("打开灯和泵", "zh", ["light", "pump"]),
        ("打开灯读温度", "zh", ["light", "temperature"]),
        ("LEDとポンプをつけて", "ja", ["led", "pump"]),
        ("LEDをつけて温度を教えて", "ja", ["led", "temperature"]),
        ("LED를 켜고 온도를 알려줘", "ko", ["led", "temperature"]),
        ("Licht aus und Pumpe an", "de", ["light", "pump"]),
        ("Enciende la luz y la bomba", "es", ["light", "pump"]),
        ("read 24.5 of the led", "en", ["led"]),
        ("", "en", [""]),
        ("please", "en", [""]),
    ],
)
def test_a_message_is_cut_where_something_new_is_wanted(
    said: str, code: str, things: list[str]
) -> None:
    assert ["".join(clause.things) for clause in clauses(said, code)] == things


@pytest.mark.parametrize(
    ("said", "mark"),
    [
        ("turn on the led, if it is dark", "suppose"),
        ("in five minutes, turn on the led", "later"),
        ("at 19:30 turn on the led", "later"),
        ("turn on the led, he said", "report"),
        ("he wrote: 'x' and “turn on the led”", "report"),
        ("turn on the led, will you?", "question"),
    ],
)
def test_a_mark_colours_every_clause_of_its_sentence(said: str, mark: str) -> None:
    assert all(mark in clause.marks for clause in clauses(said))


def test_a_mark_does_not_colour_the_next_sentence() -> None:
    first, second = clauses("If only I knew. Turn on the led.")
    assert "suppose" in first.marks
    assert "suppose" not in second.marks


def test_a_denial_is_of_its_clause_and_casts_doubt_on_the_others_up_to_a_but() -> None:
    pump, led = clauses("don't turn on the pump, turn on the led")
    assert "negate" in pump.marks
    assert led.doubted
    pump, led = clauses("don't turn on the pump but turn on the led")
    assert "negate" in pump.marks
    assert not led.doubted


def test_a_chinese_sentence_about_what_is_so_orders_nothing() -> None:
    assert "state" in clauses("泵开了", "zh")[0].marks
    assert "state" not in clauses("把泵开了", "zh")[0].marks


def test_a_word_and_the_number_after_it_are_also_a_name() -> None:
    (clause,) = clauses("turn on heater 2")
    assert "~heater2" in clause.things
