"""Numbers in digits and in words."""

import pytest

from agent.providers.offline.amounts import from_digits


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("24", ".", 24),
        ("24.5", ".", 24.5),
        ("24,5", ",", 24.5),
        ("24,5", ".", 24.5),
        ("1,000", ".", 1000),
        ("1,000", ",", 1),
        ("1.000", ",", 1000),
        ("1.013", ",", 1013),
        ("0.125", ",", 0.125),
        ("0,125", ".", 0.125),
        ("1.000,5", ",", 1000.5),
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
