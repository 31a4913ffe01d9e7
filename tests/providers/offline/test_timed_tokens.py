from itertools import pairwise

import pytest

from agent.providers.offline.timed_tokens import TokenKind, sentence_of


def kinds(text: str, code: str) -> list[str]:
    return [token.kind.value for token in sentence_of(text, code).tokens]


def unknown(text: str, code: str) -> list[str]:
    sentence = sentence_of(text, code)
    return [sentence.words(token) for token in sentence.tokens if token.kind is TokenKind.UNKNOWN]


def test_a_sentence_is_cut_into_what_says_something_and_what_does_not() -> None:
    assert kinds("cancel the second 5 minute egg timer", "en") == [
        *("tagged", "tagged", "ordinal", "duration", "unknown", "tagged"),
    ]


@pytest.mark.parametrize(
    ("code", "text", "name"),
    [
        ("de", "den Nudeltimer", "Nudel"),
        ("de", "den Nudel-Timer", "Nudel"),
        ("ja", "ラーメンタイマー", "ラーメン"),
        ("ko", "파스타타이머", "파스타"),
        ("ko", "파스타를 위한", "파스타"),
        ("zh", "绿茶计时器", "绿茶"),
        ("zh", "綠茶計時器", "綠茶"),
    ],
)
def test_a_name_is_parted_from_the_timer(code: str, text: str, name: str) -> None:
    assert unknown(text, code)[0] == name


def test_a_word_inside_a_foreign_word_is_none() -> None:
    assert unknown("パスタートのタイマー", "ja") == ["パスタート"]


def test_a_second_timer_is_no_timer_of_a_second() -> None:
    assert TokenKind.DURATION.value not in kinds("a second timer", "en")
    assert kinds("a second", "en") == ["duration"]


def test_what_ends_a_sentence_before_its_end_is_seen() -> None:
    assert "end" in sentence_of("cancel it. Now", "en").tags
    assert "end" not in sentence_of("cancel it.", "en").tags


@pytest.mark.parametrize("code", ["en", "zh", "ja", "ko", "de", "es"])
def test_every_unit_is_in_one_token(code: str) -> None:
    text = "Zeit 5 分 タイマー 파스타를 pasta’s té 7:30 – 🍕?"
    sentence = sentence_of(text, code)
    places = [(token.start, token.end) for token in sentence.tokens if not token.cut]
    assert places[0][0] == 0
    assert places[-1][1] == len(sentence.units)
    assert all(one[1] == two[0] for one, two in pairwise(places))
