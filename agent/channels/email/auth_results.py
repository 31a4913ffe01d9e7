"""Parser of `Authentication-Results` (RFC 8601), stricter than the standard.

The whole field must fit the grammar. Quotes within comments, comments within comments, backslashes
and values that touch each other are legal in places, but servers copy what strangers chose into
them: they are refused.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from agent.channels.email.header_fields import UnclearHeader

# The longest that large providers write have about two thousand
MAX_FIELD_CHARS = 10_000
_SPACE = re.compile(r"(?:[ \t]|\([^()\"\\]*\))*")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:\-]*")
_DIGITS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r"\"([^\"\\()]*)\"")
_VALUE = re.compile(r"[^\s;\"()\\]+")


class AuthMethodResult(Struct, frozen=True):
    """One check that a server did; names and result in lower case."""

    method: str
    result: str
    properties: Mapping[str, str]


class AuthResults(Struct, frozen=True):
    """One field: the server by its `authserv-id`, in lower case, and its checks."""

    server: str
    results: tuple[AuthMethodResult, ...]


def parse_auth_results(value: str) -> AuthResults:
    """Return what an unfolded field says.

    Raises:
        UnclearHeader: a character of it does not fit.
    """
    if len(value) > MAX_FIELD_CHARS or not value.replace("\t", " ").isprintable():
        raise UnclearHeader("its Authentication-Results are too long or hold odd characters")
    return _Scanner(value).field()


class _Scanner:
    """A place in the text, which only goes forward."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def field(self) -> AuthResults:
        server = self._spaced(_WORD).lower()
        version = self._take(_DIGITS)
        if version not in {"", "1"}:
            raise UnclearHeader("its Authentication-Results are of an unknown version")
        self._space()
        results = []
        while not self._is_at_end():
            self._sign(";")
            # Some servers end with a semicolon
            if not self._is_at_end() and (found := self._result()):
                results.append(found)
        return AuthResults(server, tuple(results))

    def _result(self) -> AuthMethodResult | None:
        method = self._spaced(_WORD).lower()
        if method == "none" and (self._is_at_end() or self._is_at(";")):
            return None
        if self._is_at("/"):
            self._sign("/")
            if self._spaced(_DIGITS) != "1":
                raise UnclearHeader("its Authentication-Results have a method of another version")
        self._sign("=")
        result = self._require(_WORD).lower()
        return AuthMethodResult(method, result, self._properties())

    def _properties(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        while True:
            is_apart = self._space()
            if self._is_at_end() or self._is_at(";"):
                return found
            if not is_apart:
                raise UnclearHeader("its Authentication-Results hold values that touch")
            name = self._spaced(_WORD).lower()
            self._sign("=")
            if name in found:
                raise UnclearHeader("its Authentication-Results say something twice")
            found[name] = self._value()

    def _value(self) -> str:
        if self._is_at('"'):
            return self._require(_QUOTED)[1:-1]
        return self._require(_VALUE)

    def _spaced(self, pattern: re.Pattern[str]) -> str:
        self._space()
        found = self._require(pattern)
        self._space()
        return found

    def _sign(self, sign: str) -> None:
        if not self._is_at(sign):
            raise UnclearHeader(f"its Authentication-Results lack a {sign}")
        self._at += 1
        self._space()

    def _require(self, pattern: re.Pattern[str]) -> str:
        found = self._take(pattern)
        if not found:
            raise UnclearHeader("its Authentication-Results do not follow RFC 8601")
        return found

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _space(self) -> bool:
        """Go past spaces and comments; return whether there were any."""
        return bool(self._take(_SPACE))

    def _is_at(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _is_at_end(self) -> bool:
        return self._at == len(self._text)
