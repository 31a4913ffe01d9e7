"""Taking secrets out of text that leaves: logs, answers, what a service said of an error.

Known secrets go wherever and however they are written; what only looks like a key goes too.
"""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

from agent.config import Secret

MASK = "***"
# Shorter ones would blank out ordinary words
MIN_SECRET_CHARS = 6
# Prefixes of the keys that services give out; `*` and dots as in keys they have masked themselves
_KEY_SHAPES = re.compile(
    r"""
      \b(?: sk- | gsk_ | xox[abeoprs]- | gh[oprsu]_ | github_pat_ | glpat- | pplx- | xai- | nvapi- )
      [\w\-*.…]{6,}
    | \bAIza[\w\-]{20,}
    | (?<=[Bb]earer[ ])[\w\-.~+/=]{6,}
    | (?<=://)[^\s/@:]{1,256}:[^\s/@]{1,256}(?=@)
    """,
    re.VERBOSE,
)


class Redactor:
    """Knows the secrets of this agent; more can be added while it runs."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: Secret) -> None:
        """Hide this one from now on, whatever it looks like."""
        text = secret.reveal()
        if len(text) >= MIN_SECRET_CHARS:
            known = {*self._spellings, *_spellings(text)}
            # The longest first: one may contain another
            self._spellings = tuple(
                sorted(known, key=lambda known_one: (-len(known_one), known_one))
            )

    def knows(self, text: str) -> bool:
        """Whether one of the secrets stands in it."""
        return any(spelling in text for spelling in self._spellings)

    def redact(self, text: str) -> str:
        return _KEY_SHAPES.sub(MASK, self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Without what looks like a key: quick enough for a text that is shown while it grows."""
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        return text


def _spellings(text: str) -> set[str]:
    return {
        text,
        quote(text, safe=""),
        json.dumps(text)[1:-1],
        repr(text)[1:-1],
        base64.b64encode(text.encode()).decode().rstrip("="),
    }


def without_contents(arguments_json: str) -> str:
    """Arguments of a request without what it carries: its body, and the values of its headers."""
    try:
        arguments = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return MASK
    if not isinstance(arguments, dict):
        return MASK
    headers, body = arguments.get("headers"), arguments.get("body")
    if headers:
        arguments["headers"] = dict.fromkeys(headers, MASK) if isinstance(headers, dict) else MASK
    if body:
        arguments["body"] = f"{MASK} ({len(str(body))} characters)"
    return json.dumps(arguments, ensure_ascii=False) if headers or body else arguments_json
