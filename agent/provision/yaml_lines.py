"""The part of YAML that Raspberry Pi Imager writes: nothing of it makes anything but text.

Tables and lists by indentation, texts in quotes or without; no anchors, tags or types. Lists in
brackets and blocks of text are left as one text that nobody here asks for.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.errors import ConfigRefused

Value = str | list["Value"] | dict[str, "Value"]

# Imager's own has four levels
MAX_DEPTH = 12
_ENTRY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#\[\]{}-][^:#]*?)\s*:(?:\s+(.*))?""")
_BLOCK = re.compile(r"[|>][+-]?[1-9]?")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str


def parse(text: str, name: str) -> dict[str, Value]:
    """The table that a file holds; `name` is what a refusal names.

    Raises:
        ConfigRefused: it holds what Imager does not write.
    """
    lines = [
        _Line(number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith(("#", "---"))
    ]
    reader = _Reader(lines, name)
    value, at = reader.value(0, 0) if lines else ({}, 0)
    if at < len(lines) or not isinstance(value, dict):
        raise reader.refusal(min(at, len(lines) - 1))
    return value


class _Reader:
    """Reads values from lines; every position is the number of a line in the list."""

    def __init__(self, lines: Iterable[_Line], name: str) -> None:
        self._lines = list(lines)
        self._name = name

    def refusal(self, at: int) -> ConfigRefused:
        number = self._lines[at].number
        return ConfigRefused(
            f"{self._name}: line {number}: is not what Raspberry Pi Imager writes; say it in "
            "barnacle.toml, and remove this file"
        )

    def value(self, at: int, depth: int) -> tuple[Value, int]:
        """Return the value that begins there, and where it ends."""
        if depth > MAX_DEPTH:
            raise self.refusal(at)
        first = self._lines[at]
        if first.text == "-" or first.text.startswith("- "):
            return self._list(at, depth)
        return self._table(at, depth)

    def _list(self, at: int, depth: int) -> tuple[Value, int]:
        indent = self._lines[at].indent
        items: list[Value] = []
        while at < len(self._lines) and self._is_item(at, indent):
            line = self._lines[at]
            text = line.text[1:].lstrip()
            if _ENTRY.fullmatch(text):
                # A table that begins on the line of its dash
                inner = indent + len(line.text) - len(text)
                self._lines[at] = _Line(line.number, inner, text)
                item, at = self._table(at, depth + 1)
            else:
                item, at = self._plain(text, at), at + 1
            items.append(item)
        return items, at

    def _table(self, at: int, depth: int) -> tuple[Value, int]:
        indent = self._lines[at].indent
        table: dict[str, Value] = {}
        while at < len(self._lines) and self._lines[at].indent == indent:
            entry = _ENTRY.fullmatch(self._lines[at].text)
            if entry is None:
                if self._is_item(at, indent):
                    break
                raise self.refusal(at)
            key, text = self._plain(entry[1], at), (entry[2] or "").strip()
            if _BLOCK.fullmatch(text):
                table[key], at = "", self._after(at + 1, indent)
            elif text:
                table[key], at = self._plain(text, at), at + 1
            elif self._has_inner(at + 1, indent):
                table[key], at = self.value(at + 1, depth + 1)
            else:
                table[key], at = "", at + 1
        if at < len(self._lines) and self._lines[at].indent > indent:
            raise self.refusal(at)
        return table, at

    def _is_item(self, at: int, indent: int) -> bool:
        line = self._lines[at]
        return line.indent == indent and (line.text == "-" or line.text.startswith("- "))

    def _has_inner(self, at: int, indent: int) -> bool:
        if at >= len(self._lines):
            return False
        return self._lines[at].indent > indent or self._is_item(at, indent)

    def _after(self, at: int, indent: int) -> int:
        while at < len(self._lines) and self._lines[at].indent > indent:
            at += 1
        return at

    def _plain(self, text: str, at: int) -> str:
        if text.startswith('"'):
            try:
                return str(json.loads(text))
            except ValueError:
                # A network's name with a backslash is written as it is
                return text[1:-1].replace('\\"', '"')
        if text.startswith("'"):
            return text[1:-1].replace("''", "'")
        if text.startswith(("&", "*", "!", "{", "%", "@", "`")):
            raise self.refusal(at)
        return text
