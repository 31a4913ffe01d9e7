"""Vocabulary in text: longest forms first, each where it has its meaning."""

import pytest

from agent.providers.offline.pieces import analyse, stem


def senses(said: str, code: str) -> list[str]:
    return [" ".join(piece.senses) or f"?{piece.text}" for piece in analyse(said, code).pieces]


@pytest.mark.parametrize(
    ("said", "code", "wanted"),
    [
        ("turn on", "en", ["switch on"]),
        ("关于灯", "zh", ["other", "light"]),
        ("开心", "zh", ["other"]),
        # A particle is one only where the clause ends
        ("an der Lampe", "de", ["stop", "stop", "lamp"]),
        ("die Lampe an", "de", ["stop", "lamp", "stop on"]),
        # A foreign word inside a longer one is another word
        ("ライトアップ", "ja", ["?ライトアップ"]),
        ("불편", "ko", ["other"]),
        ("펌프를", "ko", ["pump", "object"]),
        # Names are known in English everywhere, little words are not
        ("打开 pump", "zh", ["switch on", "pump"]),
        ("打开 the", "zh", ["switch on", "?the"]),
        ("led2", "en", ["led ~led2"]),
        ("remember this", "en", ["remember"]),
        ("I can't remember this", "en", ["self", "negate", "?remember", "stop"]),
        ("twenty five", "en", ["?twenty five"]),
        # One letter is an article before a thing, and part of a name elsewhere
        ("mach d lampe uus", "de", ["switch", "stop", "lamp", "off"]),
        ("relais d bitte aus", "de", ["relay", "?d", "request", "stop off"]),
        ("relais e", "de", ["relay", "?e"]),
        ("pumpe u und relais", "de", ["pump", "?u", "join", "relay"]),
        ("relais s sofort aus", "de", ["relay", "?s", "stop", "stop off"]),
        ("schalte d lampe aus", "de", ["switch", "stop", "lamp", "stop off"]),
        ("relay a off", "en", ["relay", "?a", "off"]),
    ],
)
def test_forms_are_found_where_they_mean_something(said: str, code: str, wanted: list[str]) -> None:
    assert senses(said, code) == wanted


def test_a_number_in_words_has_its_value() -> None:
    assert analyse("twenty five", "en").pieces[0].number == 25
    assert analyse("二十五", "zh").pieces[0].number == 25


def test_a_message_of_one_short_word_is_an_answer() -> None:
    assert senses("No.", "en") == ["no"]
    assert senses("不要", "zh") == ["no"]
    assert senses("不要开", "zh")[0] == "negate"


@pytest.mark.parametrize(
    ("word", "wanted"), [("called", "call"), ("keys", "key"), ("as", "as"), ("sister's", "sister")]
)
def test_unknown_words_are_compared_without_their_endings(word: str, wanted: str) -> None:
    assert stem(word) == wanted
