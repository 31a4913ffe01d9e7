from typing import Annotated, Literal

import pytest
from msgspec import Meta

from agent.text.config_hints import complaint, expected, key_path, unknown


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (bool, "true or false"),
        (Annotated[int, Meta(ge=1)], "a whole number of at least 1"),
        (Annotated[int, Meta(le=9)], "a whole number of at most 9"),
        (Annotated[int, Meta(ge=1, le=9)], "a whole number from 1 to 9"),
        (Annotated[float, Meta(gt=0, lt=1)], "a number above 0 below 1"),
        (Annotated[str, Meta(min_length=2)], "text in quotes of at least 2 characters"),
        (Annotated[str, Meta(max_length=2)], "text in quotes of 0 to 2 characters"),
        (Annotated[str, Meta(description="a time such as 07:30")], "a time such as 07:30"),
        (Literal["a", "b"], "one of a, b"),
        (int | str, "a whole number or text in quotes"),
        (int | None, "a whole number"),
        (list[str], "a list, each of it text in quotes"),
        (tuple[int, ...], "a list, each of it a whole number"),
        (complex, ""),
        (list[complex], ""),
        (int | complex, ""),
    ],
)
def test_a_type_is_told_in_words(kind: object, words: str) -> None:
    assert expected(kind) == words


def test_a_word_that_others_use_finds_ours() -> None:
    """By its letters `adc` is nearer to the output that it is not."""
    assert complaint("adc", Literal["analog", "dac"]).endswith("did you mean `analog`?")
    assert complaint("ADC", Literal["dac"]).endswith("did you mean `dac`?")


def test_where_words_are_missing_nothing_is_said() -> None:
    assert complaint(1, complex) == ""


@pytest.mark.parametrize(
    ("key", "known", "words"),
    [
        ("bdua", ["name", "baud"], "unknown key; did you mean `baud`?"),
        ("Baud", ["name", "baud"], "unknown key; did you mean `baud`?"),
        ("zzz", ["name", "baud"], "unknown key; the keys here are name, baud"),
        ("zzz", [], "unknown key; the keys here are none"),
    ],
)
def test_an_unknown_key_is_told_with_what_is_known(key: str, known: list[str], words: str) -> None:
    assert unknown(key, known) == words


def test_a_key_path_is_visible_whatever_it_holds() -> None:
    assert key_path(["board", "baud"]) == "`board.baud`"
    assert key_path(["a\n\x1b", "ü"]) == '`"a??"."ü"`'
    assert key_path([]) == "the file"
