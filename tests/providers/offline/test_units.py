"""Folding and cutting text into units."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.offline.lexicon import variants
from agent.providers.offline.units import MAX_CHARS, UnitKind, split, tidy


def texts(said: str) -> list[str]:
    return [unit.text for unit in split(tidy(said), variants())]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Turn ON, the LED!", ["turn", "on", ",", "the", "led", "!"]),
        ("打開led燈", ["打", "开", "led", "灯"]),
        ("ＬＥＤ　をつけて", ["led", "を", "つ", "け", "て"]),
        ("LED 켜줘", ["led", "켜", "줘"]),
        ("¿Está húmedo?", ["¿", "esta", "humedo", "?"]),
        ("heißt Öl", ["heisst", "ol"]),
        ("don’t", ["don't"]),
        ("24,5 °C at 19:30", ["24,5", "°", "c", "at", "19:30"]),
        ("read ./logs/a-b.txt now", ["read", "./logs/a-b.txt", "now"]),
        ("stop.Go e.g. on/off", ["stop", ".", "go", "e", ".", "g", ".", "on", "/", "off"]),
        ("a\nb", ["a", "\n", "b"]),
        ("が", ["が"]),
        ("\ud800 ok", ["?", "ok"]),
        ("", []),
    ],
)
def test_text_is_folded_and_cut(said: str, wanted: list[str]) -> None:
    assert texts(said) == wanted


@given(st.text(max_size=300))
def test_every_unit_knows_where_it_stands(said: str) -> None:
    said = tidy(said)
    units = split(said, variants())
    assert all(0 <= unit.start < unit.end <= len(said) for unit in units)
    assert all(one.start <= two.start for one, two in itertools.pairwise(units))


def test_what_is_beyond_the_limit_is_not_looked_at() -> None:
    assert len(split("x " * MAX_CHARS, variants())) == MAX_CHARS / 2


def test_scripts_are_told_apart() -> None:
    kinds = [unit.kind for unit in split("on 灯 つ 켜 5 a.md ?", variants())]
    wanted = [
        UnitKind.WORD,
        UnitKind.HAN,
        UnitKind.KANA,
        UnitKind.HANGUL,
        UnitKind.NUMBER,
        UnitKind.PATH,
        UnitKind.MARK,
    ]
    assert kinds == wanted
