"""Lengths of time as services write them: `6m0s`, `1h2m3.5s`, "2 minutes", `500µs`."""

import re

# The longest names first; Go's own, and words
_UNITS = {
    "d": 86400.0,
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}
_NAMES = (
    r"(?P<d>d(?:ays?)?)|(?P<h>h(?:ours?|rs?)?)|(?P<ms>ms(?:ecs?)?|milliseconds?)"
    r"|(?P<m>m(?:in(?:ute)?s?)?)|(?P<us>[uµμ]s)|(?P<ns>ns)|(?P<s>s(?:ec(?:ond)?s?)?)"
)
_PART = re.compile(
    rf"\s?(?:(?:and|,)\s)?(?P<number>[0-9]{{1,10}}(?:\.[0-9]{{1,9}})?)\s?(?:{_NAMES})(?![a-zµμ])",
    re.IGNORECASE,
)
# Behind what a service says of when to come back
_AGAIN = re.compile(
    r"(?:try(?: your request)? again|retry|retry after|retry-after:?|please wait|available again)"
    r"(?: in| after| for)?(?: about)? (?=[0-9])",
    re.IGNORECASE,
)
_MOST_PARTS = 4


def span_s(text: str) -> float | None:
    """Return the seconds of a text that is nothing but a length of time; None of any other."""
    span, end = _span_at(text.strip(), 0)
    return span if end == len(text.strip()) else None


def told_s(message: str) -> float | None:
    """Return the seconds that a message asks to wait ("try again in 1m30s"); None if none."""
    spans = (_span_at(message, again.end())[0] for again in _AGAIN.finditer(message))
    return next((one for one in spans if one is not None), None)


def _span_at(text: str, place: int) -> tuple[float | None, int]:
    found: float | None = None
    for _ in range(_MOST_PARTS):
        part = _PART.match(text, place)
        if part is None:
            break
        unit = next(name for name in _UNITS if part[name])
        found = (found or 0.0) + float(part["number"]) * _UNITS[unit]
        place = part.end()
    return found, place
