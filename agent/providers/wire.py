"""What an OpenAI-compatible service sends, under limits, as frozen values.

Everything is optional: services leave out, add and misspell. Unknown fields are ignored.
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
    """Not JSON, too deep, or of another shape."""


class FunctionPart(msgspec.Struct, frozen=True):
    """Name and arguments, or a piece of them; some services send arguments as an object."""

    name: str | None = None
    arguments: str | dict[str, object] | None = None


class CallPart(msgspec.Struct, frozen=True):
    """A tool call or a piece of one; pieces with the same `index` belong together."""

    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class TextPart(msgspec.Struct, frozen=True):
    """Content as some services send it: a list, of which only text is for people."""

    text: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message, or what was added to it."""

    content: str | list[TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or self.refusal or ""


class Choice(msgspec.Struct, frozen=True):
    """One of the answers: `delta` in a stream, `message` in a whole answer."""

    index: int | None = None
    delta: Message | None = None
    message: Message | None = None
    finish_reason: str | None = None


class TokenCount(msgspec.Struct, frozen=True):
    """What the service counted."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Chunk(msgspec.Struct, frozen=True):
    """A whole answer, or one event of a stream."""

    choices: list[Choice] | None = None
    usage: TokenCount | None = None
    error: object = None
    # vLLM marks an error in the middle of a stream by this alone
    kind: str | None = msgspec.field(default=None, name="object")
    message: str | None = None


class Model(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class ModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[Model]


def decode(text: str, kind: type[T]) -> T:
    """Typed values.

    Raises:
        WireError: with a few words on what is wrong.
    """
    try:
        # Not msgspec's own parser: it refuses the halves of a character cut between two chunks
        return msgspec.convert(parse(text), kind, strict=False)
    except msgspec.ValidationError as err:
        raise WireError(str(err)) from err


def parse(text: str) -> object:
    """Untyped values, not nested deeper than allowed.

    Raises:
        WireError: as for `decode`.
    """
    if _is_too_deep(text):
        raise WireError(f"nested deeper than {MAX_JSON_DEPTH}")
    try:
        return json.loads(text)
    except ValueError as err:
        raise WireError("not JSON") from err


def joined_halves(text: str) -> str:
    """Text with every surrogate half joined to its other half, or replaced if it has none."""
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
