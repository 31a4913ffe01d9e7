"""JSON of a model service: parsed under limits, checked against a shape.

Everything else about it is the wire format's own.
"""

import json
import re
from typing import TypeVar

import msgspec

# Completions need about six levels; deeper is an attack on the parser
MAX_JSON_DEPTH = 32

# A string that never ends matches too, so that no text is scanned twice
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

T = TypeVar("T")


class WireError(ValueError):
    """Text that is not JSON, too deep, or of another shape."""


def decode(text: str, kind: type[T]) -> T:
    """Return typed values.

    Raises:
        WireError: with a few words on what is wrong.
    """
    try:
        # Not msgspec's own parser: it refuses the halves of a character cut between two chunks
        return msgspec.convert(parse(text), kind, strict=False)
    except msgspec.ValidationError as err:
        raise WireError(str(err)) from err


def parse(text: str) -> object:
    """Return untyped values, not nested deeper than allowed.

    Raises:
        WireError: as for `decode`.
    """
    if _is_too_deep(text):
        raise WireError(f"nested deeper than {MAX_JSON_DEPTH}")
    try:
        return json.loads(text)
    except ValueError as err:
        raise WireError("not JSON") from err


def object_in(text: str) -> dict[str, object]:
    """Return the object in a text; an empty one if there is none.

    Some services refuse a whole conversation for one call of theirs that is not JSON.
    """
    try:
        found = parse(text)
    except WireError:
        return {}
    return found if isinstance(found, dict) else {}


def encode(body: object) -> bytes:
    """Return JSON to send."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # A lone surrogate somewhere: one character is lost instead of the conversation
        text = json.dumps(body, ensure_ascii=False, default=_unwritten)
        return text.encode(errors="replace")


def _unwritten(part: object) -> object:
    """Return a part that was encoded before."""
    if isinstance(part, msgspec.Raw):
        return msgspec.json.decode(part)
    raise TypeError(f"{type(part).__name__} cannot be written as JSON")


def joined_halves(text: str) -> str:
    """Return text with surrogate halves joined in pairs; lone ones are replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _is_too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH:
        return False
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "{[":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                return True
        elif token[0] in "}]":
            depth -= 1
    return False
