"""Owner's names for pins: `pins.md` or `aliases.md` among the documents.

One pin in a line: `red led, rote LED: PB3`, or a row of a table with the name, the pin and other
words. A question that has one of the words in it gets the line, whatever else fits.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from agent.errors import PathRefused
from agent.memory.text import HUNG_LETTERS, is_paired
from agent.security.paths import open_beneath

FILES = ("pins.md", "aliases.md")
# Hundreds of pins; what is longer is no list of them
_MAX_BYTES = 64 * 1024
_MAX_ALIASES = 500
_PIN = re.compile(r"(?:(?:gpio|pin|p[a-k]|a|d)[ _-]?)?\d{1,3}", re.IGNORECASE)
_LINE = re.compile(r"[-*]?\s*(?P<names>[^:|]{1,200}):\s*(?P<pin>[^:|]{1,20})")
_WITHOUT_SPACES = re.compile(HUNG_LETTERS)
_SEPARATORS = re.compile(r"[,;、，/]")


class Alias(Struct, frozen=True):
    """One pin, all its names, and the place of the entry."""

    pin: str
    names: tuple[str, ...]
    file: str

    @property
    def sentence(self) -> str:
        return f"{' = '.join(self.names)}: pin {self.pin}"

    def is_in(self, query: str) -> bool:
        """Return true if the question has the pin or one of its names."""
        asked = f" {_plain(query)} "
        return any(_is_named(_plain(name), asked) for name in (*self.names, self.pin))


def aliases_in(folder: Path) -> list[Alias]:
    """Return all listed pins; none without a file."""
    return [alias for name in FILES for alias in parse(_text(folder, name), name)][:_MAX_ALIASES]


def parse(text: str, file: str) -> Iterator[Alias]:
    """Yield the pins of a list; skip other lines."""
    for line in text.splitlines():
        cells = _cells(line.strip())
        if cells is None:
            continue
        first, pin, *more = cells
        names = [name.strip(" `*_") for cell in (first, *more) for name in _SEPARATORS.split(cell)]
        named = tuple(name for name in names if _plain(name) and not _is_letter(name))
        pin = pin.strip(" `*_")
        if named and _PIN.fullmatch(pin):
            yield Alias(pin, named, file)


def _cells(line: str) -> list[str] | None:
    if line.startswith("|"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        return cells if len(cells) > 1 else None
    found = _LINE.fullmatch(line)
    return [found["names"], found["pin"]] if found else None


def _is_letter(name: str) -> bool:
    """Return true for one Latin letter, which names no pin; a Chinese or Korean sign is a word."""
    return len(name) == 1 and name.isascii()


def _text(folder: Path, name: str) -> str:
    try:
        with open_beneath(folder, name) as file:
            content = file.read(_MAX_BYTES)
    except PathRefused:
        return ""
    return content.decode(errors="replace")


def _plain(text: str) -> str:
    """Return lower-case words with single spaces between them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in folded).split())


def _is_named(name: str, asked: str) -> bool:
    # Words of Chinese, Japanese and Thai stand in a text without spaces, those of Korean before
    # endings; "Tür" is none of "natürlich"
    if _WITHOUT_SPACES.search(name) or any(map(is_paired, name)):
        return name in asked
    return bool(name) and f" {name} " in asked
