"""Facts of a pin as a tool's schema tells them: other names, place, groups, what opens it.

They stand in brackets after its name: `led (blue led, lamp; in kitchen; of lamps; opens off)`. The
same words tell a language model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# A board with 32 pins, each with eight names
_MAX_CHARS = 16_000
_ENTRY = re.compile(r"(?:^|,)([^(),]{1,60})\(([^()]{1,600})\)")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is told of one choice.

    Args:
        opens: the value at which it is open, where it is not "on".
        safe: the value that it has while nobody holds it, where it is not "off".
    """

    aliases: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    opens: str = "on"
    safe: str = "off"


NO_FACTS = Facts()


def facts_in(description: str) -> Mapping[str, Facts]:
    """The facts of each choice that a description tells of."""
    return {name.strip(): _facts(told) for name, told in _ENTRY.findall(description[:_MAX_CHARS])}


def _facts(told: str) -> Facts:
    aliases, *further = told.split(";")
    by_word: dict[str, list[str]] = {}
    for part in further:
        word, _, rest = part.strip().partition(" ")
        by_word.setdefault(word, []).append(rest.strip())
    return Facts(
        aliases=_listed([aliases]),
        places=_listed(by_word.get("in", [])),
        groups=_listed(by_word.get("of", [])),
        opens=by_word.get("opens", ["on"])[-1],
        safe=by_word.get("rests", ["off"])[-1],
    )


def _listed(texts: list[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
