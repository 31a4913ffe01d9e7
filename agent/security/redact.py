"""Removal of secrets from text that leaves the agent: logs, answers, error texts of services.

Known secrets go wherever and however they are written; what only looks like a key goes too.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.config import Secret

if TYPE_CHECKING:
    import re

__all__ = ["MASK", "MIN_SECRET_CHARS", "Redactor", "without_contents"]

# Instead of a secret
MASK = "***"
# Shorter ones would blank out ordinary words
MIN_SECRET_CHARS = 6


class Redactor:
    """Removes the secrets of this agent; more can be added while it runs."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings: tuple[str, ...] = ()
        self._spaced: tuple[re.Pattern[str], ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: Secret) -> None:
        """Hide this secret from now on."""
        from agent.security.spellings import spaced, spellings  # noqa: PLC0415 - no start needs it

        text = secret.reveal()
        if len(text) >= MIN_SECRET_CHARS:
            known = {*self._spellings, *spellings(text)}
            # The longest first: one may contain another
            self._spellings = tuple(
                sorted(known, key=lambda known_one: (-len(known_one), known_one))
            )
            if (pattern := spaced(text)) is not None:
                self._spaced = (*self._spaced, pattern)

    def knows(self, text: str) -> bool:
        """Return true if the text contains a secret."""
        is_there = any(spelling in text for spelling in self._spellings)
        return is_there or any(pattern.search(text) for pattern in self._spaced)

    def redact(self, text: str) -> str:
        from agent.security.key_shapes import without_keys  # noqa: PLC0415 - no start needs it

        return without_keys(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Mask only known secrets: fast enough for a text that is shown while it grows."""
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        for pattern in self._spaced:
            text = pattern.sub(MASK, text)
        return text


def without_contents(arguments_json: str) -> str:
    """Return a request's arguments without its body and its header values."""
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
