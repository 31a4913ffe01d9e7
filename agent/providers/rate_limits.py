"""Time at which a service's limit is renewed, from the headers in which services tell it.

OpenAI and Groq write `x-ratelimit-reset-tokens: 6m0s`, Cerebras seconds with a fraction, Anthropic
`anthropic-ratelimit-tokens-reset` with a date, others seconds or the time since 1970, some of them
in milliseconds. What counts is the limit that is used up, not the one that ends last.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

# `x-ratelimit-reset-tokens`, `anthropic-ratelimit-tokens-reset`, `ratelimit-reset`
_RESET = re.compile(r"(?P<before>.*ratelimit-(?:.*-)?)reset(?P<after>(?:-.*)?)")
_SPAN = re.compile(
    r"(?:(?P<h>[0-9]{1,4})h)?(?:(?P<m>[0-9]{1,4})m(?!s))?"
    r"(?:(?P<s>[0-9]{1,6}(?:\.[0-9]{1,9})?)s)?(?:(?P<ms>[0-9]{1,9}(?:\.[0-9]{1,9})?)ms)?"
)
_NUMBER = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")
# Later than any number of seconds to wait, earlier than any time since 1970 that is to come
_SINCE_1970 = 1_000_000_000.0
# The same in milliseconds
_SINCE_1970_MS = 1_000_000_000_000.0


def wait_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds until a request may pass again; None where no header says so.

    Args:
        headers: with names in lower case.
        now_s: time since 1970.
    """
    waits = []
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        wait = None if found is None else _wait_s(value.strip(), now_s)
        if found is not None and wait is not None:
            left = headers.get(f"{found['before']}remaining{found['after']}", "")
            waits.append((wait, left.strip()))
    used_up = [wait for wait, left in waits if left in {"0", "0.0"}]
    # All that are used up have to be renewed; of unknown ones, the first may do
    return max(used_up) if used_up else _first(wait for wait, _ in waits)


def _first(waits: Iterable[float]) -> float | None:
    return min(waits, default=None)


def _wait_s(value: str, now_s: float) -> float | None:
    if _NUMBER.fullmatch(value):
        return _of_number(float(value), now_s)
    span = _SPAN.fullmatch(value) if value else None
    if span is not None:
        h, m, s, ms = (float(span[part] or 0) for part in ("h", "m", "s", "ms"))
        return 3600 * h + 60 * m + s + ms / 1000
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    # Without a zone it is nobody's time
    return max(0.0, moment.timestamp() - now_s) if moment.tzinfo is not None else None


def _of_number(value: float, now_s: float) -> float:
    if value >= _SINCE_1970_MS:
        value /= 1000
    return max(0.0, value - now_s) if value >= _SINCE_1970 else value
