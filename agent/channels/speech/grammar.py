"""Sentences that the recogniser of this machine listens for: orders for named things, and others.

It hears nothing else. So a sentence is always one that the device understands without a model.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from agent.link.manifest import Manifest

# Where a name stands
THING = "{}"
ORDERS = (
    *("turn {} on", "turn {} off", "turn on {}", "turn off {}"),
    *("switch {} on", "switch {} off", "switch on {}", "switch off {}"),
    *("open {}", "close {}", "read {}", "what is {}", "is {} on", "is {} off"),
)
PLAIN = (
    *("what time is it", "what day is it", "what is connected", "status"),
    *("stop", "emergency stop", "turn everything off", "switch everything off"),
)
# The search grows with them; a house has fewer things that somebody calls by name
MAX_NAMES = 60
MAX_NAME_WORDS = 4
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WORD = re.compile(r"[a-z']+|[0-9]")


class HasManifest(Protocol):
    """Board, or what stands for one."""

    @property
    def manifest(self) -> Manifest | None: ...


class DeviceGrammar(Struct, frozen=True):
    """Patterns of sentences, and the names that stand in them, in words of small letters.

    Args:
        wake: what a sentence may begin with, and may be one; empty for nothing.
    """

    orders: Sequence[str]
    plain: Sequence[str]
    names: Sequence[str]
    wake: str = ""


def grammar_of(names: Iterable[str], wake: str = "") -> DeviceGrammar:
    """Return the grammar of things with these names; what is no English name is left out."""
    said = dict.fromkeys(filter(None, map(_said, names)))
    return DeviceGrammar(ORDERS, PLAIN, tuple(said)[:MAX_NAMES], _said(wake))


def names_of(boards: Iterable[HasManifest]) -> Iterable[str]:
    """Yield the names of what is wired to the boards, as far as those are known by now."""
    for board in boards:
        for pin in board.manifest.pins if board.manifest is not None else ():
            yield pin.name
            yield from pin.aliases


def _said(name: str) -> str:
    """Return a name as it is said; empty if it cannot be."""
    if not name.isascii():
        return ""
    words = [_DIGITS[int(word)] if word.isdigit() else word for word in _WORD.findall(name.lower())]
    return " ".join(words) if len(words) <= MAX_NAME_WORDS else ""
