"""Numbers as people write them, and as they are shown."""

# Digits after a mark of thousands
_THOUSANDS_DIGITS = 3


def from_digits(text: str, decimal: str) -> float | None:
    """Return the value of digits with points or commas; None for a time, or no number."""
    if ":" in text:
        return None
    thousands = "," if decimal == "." else "."
    if text.count(",") + text.count(".") > 1:
        text = text.replace(thousands, "")
    head, mark, tail = text.partition(thousands)
    # 1.013 hPa in German, but no thousands begin with a zero
    if mark and len(tail) == _THOUSANDS_DIGITS and head.strip("+-0"):
        text = head + tail
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def tidied(value: float) -> str:
    """Return a number without a fraction of zero."""
    return f"{value:g}"
