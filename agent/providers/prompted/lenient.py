"""JSON as models write it by hand.

Takes single quotes, keys without quotes, commas too many, line breaks in strings, Python's True and
None, and closing braces that are missing just before a mark that says the text is whole. Never
guesses a value. Reads every character once.
"""

import json
import math
import re

from msgspec import Struct

from agent.providers.service_json import MAX_JSON_DEPTH

# Braces that a model forgets at the very end; with more of them gone nobody knows what was meant
MAX_MISSING = 2

_SPACE = re.compile(r"[ \t\r\n]*+")
# The second alternative of each is a string whose end never comes
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*+)("?)', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*+)('?)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][+-]?[0-9]{1,3})?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]{0,99}")
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False}
_NOTHING = frozenset({"null", "None"})
_QUOTES_INSIDE = re.compile(r"\\(.)|(\")", re.DOTALL)
# Some models write names as Markdown wants them
_MARKDOWN_ESCAPE = re.compile(r"\\(_)|\\.", re.DOTALL)


class Unreadable(ValueError):
    """Text that is not JSON even leniently; `place` is where that showed."""

    def __init__(self, what: str, place: int) -> None:
        super().__init__(what)
        self.place = place


class ParsedValue(Struct, frozen=True):
    """Value, and the place at which the text continues."""

    value: object
    end: int


class LenientReader:
    """Reads values out of one text.

    Args:
        closing: what may follow in the place of closing braces that are missing; without it none
            may be.
    """

    def __init__(self, text: str, closing: re.Pattern[str] | None = None) -> None:
        self._text = text
        self._closing = closing
        self._missing = 0

    def value(self, start: int, depth: int = 0) -> ParsedValue:
        """Return the value that begins at `start`, after spaces.

        Raises:
            Unreadable: there is none.
        """
        start = self.after_space(start)
        if depth > MAX_JSON_DEPTH:
            raise Unreadable(f"nested deeper than {MAX_JSON_DEPTH}", start)
        match self._text[start : start + 1]:
            case "{":
                return self._object(start + 1, depth)
            case "[":
                return self._list(start + 1, depth)
            case '"' | "'":
                return self._string(start)
        return self._bare(start)

    def after_space(self, start: int) -> int:
        space = _SPACE.match(self._text, start)
        return space.end() if space else start

    def _object(self, place: int, depth: int) -> ParsedValue:
        members: dict[str, object] = {}
        while True:
            place = self.after_space(place)
            if self._text.startswith("}", place):
                return ParsedValue(members, place + 1)
            # A value before it, so that nothing but the brace can be missing
            if members and self._is_closed_at(place):
                return ParsedValue(members, place)
            name = self._key(place)
            if name.value in members:
                raise Unreadable(f"{name.value!r} appears twice", place)
            colon = self.after_space(name.end)
            if not self._text.startswith(":", colon):
                raise Unreadable("a colon is missing", colon)
            member = self.value(colon + 1, depth + 1)
            members[str(name.value)] = member.value
            place = self._after_comma(member.end, "}")

    def _list(self, place: int, depth: int) -> ParsedValue:
        entries: list[object] = []
        while True:
            place = self.after_space(place)
            if self._text.startswith("]", place):
                return ParsedValue(entries, place + 1)
            entry = self.value(place, depth + 1)
            entries.append(entry.value)
            place = self._after_comma(entry.end, "]")

    def _after_comma(self, place: int, end: str) -> int:
        place = self.after_space(place)
        if self._text.startswith(",", place):
            after = self.after_space(place + 1)
            if self._closing is not None and self._closing.match(self._text, after):
                # After a comma something was to come
                raise Unreadable("it ends after a comma", after)
            return after
        if self._text.startswith(end, place) or (end == "}" and self._is_missing_at(place)):
            return place
        raise Unreadable(f"a comma or {end} is missing", place)

    def _is_missing_at(self, place: int) -> bool:
        closing = self._closing
        return closing is not None and closing.match(self._text, place) is not None

    def _is_closed_at(self, place: int) -> bool:
        """Return true if a brace is missing here, and not one too many."""
        if not self._is_missing_at(place):
            return False
        self._missing += 1
        if self._missing > MAX_MISSING:
            raise Unreadable(f"more than {MAX_MISSING} closing braces are missing", place)
        return True

    def _key(self, place: int) -> ParsedValue:
        if self._text[place : place + 1] in {'"', "'"}:
            return self._string(place)
        word = _WORD.match(self._text, place)
        if word is None:
            raise Unreadable("a name is missing", place)
        return ParsedValue(word[0], word.end())

    def _string(self, place: int) -> ParsedValue:
        is_double = self._text[place] == '"'
        string = (_DOUBLE if is_double else _SINGLE).match(self._text, place)
        if string is None or not string[2]:
            raise Unreadable("a string does not end", len(self._text))
        inside = string[1] if is_double else _QUOTES_INSIDE.sub(_requoted, string[1])
        inside = _MARKDOWN_ESCAPE.sub(lambda one: one[1] or one[0], inside)
        try:
            # Not strict: line breaks stand in strings that are written by hand
            return ParsedValue(json.loads(f'"{inside}"', strict=False), string.end())
        except ValueError as err:
            raise Unreadable("a string has an unknown escape", string.end()) from err

    def _bare(self, place: int) -> ParsedValue:
        if number := _NUMBER.match(self._text, place):
            value = json.loads(number[0])
            if not math.isfinite(value):
                raise Unreadable("a number is too large", place)
            return ParsedValue(value, number.end())
        word = _WORD.match(self._text, place)
        if word is not None and word[0] in _CONSTANTS:
            return ParsedValue(_CONSTANTS[word[0]], word.end())
        if word is not None and word[0] in _NOTHING:
            return ParsedValue(None, word.end())
        raise Unreadable("a value is missing", place)


def _requoted(inside: re.Match[str]) -> str:
    """Return single-quoted text as it reads in double quotes."""
    if inside[2] or inside[1] == '"':
        return '\\"'
    return "'" if inside[1] == "'" else inside[0]
