"""Calls in Python's form: `name(key="value")`, alone or in a list.

Values are literals only. Nothing is evaluated.
"""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, wanted_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import closed, refused

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,80}")
_KEYWORD = re.compile(r"([A-Za-z_]\w{0,63})\s*=(?!=)")
# Around a call in some models' code
_FRAME = re.compile(r"(?:print|await)\b")


class PythonCalls:
    """Reader of calls at one place of a text."""

    def __init__(self, text: str, closing: re.Pattern[str] | None = None) -> None:
        self._text = text
        self._closing = closing
        self._reader = LenientReader(text)

    def taken(self, start: int) -> TakenCalls:
        """Return the calls from `start` on, one after the other or in a list."""
        try:
            wanted, place = self.calls(self._reader.after_space(start))
        except Unreadable as err:
            return refused(self._text, max(start, err.place), self._closing, str(err))
        return closed(self._text, place, self._closing, wanted)

    def calls(self, place: int) -> tuple[list[WantedCall], int]:
        """Return the calls, and the place after them.

        Raises:
            Unreadable: there is none, or one of them is not whole.
        """
        if self._text.startswith("[", place):
            return self._in_list(place + 1)
        wanted: list[WantedCall] = []
        while _NAME.match(self._text, place):
            one, place = self._call(place)
            wanted.append(one)
            place = self._after(place, ";")
        if not wanted:
            raise Unreadable("it is not a function call", place)
        return wanted, place

    def _in_list(self, place: int) -> tuple[list[WantedCall], int]:
        wanted: list[WantedCall] = []
        place = self._reader.after_space(place)
        while not self._text.startswith("]", place):
            one, place = self._call(place)
            wanted.append(one)
            place = self._after(place, ",")
        if not wanted:
            raise Unreadable("the list of calls is empty", place)
        return wanted, self._reader.after_space(place + 1)

    def _after(self, place: int, separator: str) -> int:
        place = self._reader.after_space(place)
        if self._text.startswith(separator, place):
            return self._reader.after_space(place + 1)
        return place

    def _call(self, place: int) -> tuple[WantedCall, int]:
        name = _NAME.match(self._text, place)
        if name is None or not self._text.startswith("(", name.end()):
            raise Unreadable("it is not a function call", place)
        if _FRAME.fullmatch(name[0]):
            one, place = self._call(self._reader.after_space(name.end() + 1))
            place = self._reader.after_space(place)
            if not self._text.startswith(")", place):
                raise Unreadable("a closing bracket is missing", place)
            return one, place + 1
        arguments, place = self._arguments(name.end() + 1)
        # The interpreter of one vendor is called so
        return wanted_call(name[0].removesuffix(".call"), arguments), place

    def _arguments(self, place: int) -> tuple[dict[str, object], int]:
        arguments: dict[str, object] = {}
        place = self._reader.after_space(place)
        while not self._text.startswith(")", place):
            keyword = _KEYWORD.match(self._text, place)
            found = self._reader.value(keyword.end() if keyword else place)
            if keyword is not None:
                if keyword[1] in arguments:
                    raise Unreadable(f"{keyword[1]} appears twice", place)
                arguments[keyword[1]] = found.value
            elif isinstance(found.value, dict) and not arguments:
                arguments = dict(found.value)
            else:
                raise Unreadable("an argument has no name", place)
            place = self._reader.after_space(found.end)
            if self._text.startswith(",", place):
                place = self._reader.after_space(place + 1)
            elif not self._text.startswith(")", place):
                raise Unreadable("a comma or a closing bracket is missing", place)
        return arguments, place + 1
