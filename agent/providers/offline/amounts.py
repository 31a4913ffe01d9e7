"""Numbers as people write and say them."""

from collections.abc import Sequence

# Words from here on multiply what stands before them: two hundred, 三百
_FIRST_MULTIPLIER = 100
# In Chinese numerals ten multiplies too: 三十
_TEN = 10
# Digits after a comma that may as well be thousands
_THOUSANDS_DIGITS = 3


def from_digits(text: str, decimal: str) -> float | None:
    """The value of digits with points or commas; None when it is a time or no number."""
    if ":" in text:
        return None
    if text.count(",") + text.count(".") > 1:
        text = text.replace("," if decimal == "." else ".", "")
    head, comma, tail = text.partition(",")
    if comma and decimal == "." and len(tail) == _THOUSANDS_DIGITS:
        text = head + tail
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def tidied(value: float) -> str:
    """A number without a fraction of zero."""
    return f"{value:g}"


def from_words(values: Sequence[float], *, ten_multiplies: bool) -> float:
    """The value of number words in a row: twenty five, 二十五."""
    total = 0.0
    current = 0.0
    for value in values:
        multiplies = value >= _FIRST_MULTIPLIER or (ten_multiplies and value == _TEN)
        if multiplies:
            total += (current or 1) * value
            current = 0.0
        else:
            current += value
    return total + current
