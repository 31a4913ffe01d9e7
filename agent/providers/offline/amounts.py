"""Numbers as people write them, and as they are shown."""

# Digits after a comma that may as well be thousands
_THOUSANDS_DIGITS = 3


def from_digits(text: str, decimal: str) -> float | None:
    """Return the value of digits with points or commas; None for a time, or no number."""
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
    """Return a number without a fraction of zero."""
    return f"{value:g}"
