"""Numbers in digits and in words."""

import pytest

from agent.providers.offline.amounts import from_digits, from_words


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("24", ".", 24),
        ("24.5", ".", 24.5),
        ("24,5", ",", 24.5),
        ("24,5", ".", 24.5),
        ("1,000", ".", 1000),
        ("1,000", ",", 1),
        ("1.000.000", ",", 1_000_000),
        ("1,000,000", ".", 1_000_000),
        ("19:30", ".", None),
        ("1.2.3", ".", None),
    ],
)
def test_digits_are_read_as_the_language_writes_them(
    text: str, decimal: str, value: float | None
) -> None:
    assert from_digits(text, decimal) == value


@pytest.mark.parametrize(
    ("words", "ten_multiplies", "value"),
    [
        ([20, 5], False, 25),
        ([2, 100, 5], False, 205),
        ([100], False, 100),
        ([2, 10, 5], True, 25),
        ([10], True, 10),
        ([3, 100, 2, 10, 1], True, 321),
    ],
)
def test_words_in_a_row_are_one_number(
    words: list[float], *, ten_multiplies: bool, value: float
) -> None:
    assert from_words(words, ten_multiplies=ten_multiplies) == value
