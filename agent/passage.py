"""A passage of text with its origin: the only thing that a model is ever shown.

Whoever makes one says whose words they are. Nothing is trusted because nobody said anything, and
passages that are put together are trusted as little as the least of them.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import LiteralString

from msgspec import Struct
from msgspec.structs import replace


class Provenance(enum.IntEnum):
    """Origin of text, ordered by trust: the lowest one seen decides a turn."""

    # A page, a file or a person nobody vouched for
    WEB = 0
    # What a tool returned
    TOOL = 1
    # What a model concluded by itself
    MODEL = 2
    # A reading of our own board
    SENSOR = 3
    # A person whom the owner paired
    USER = 4
    # The person who owns the device
    OWNER = 5


class Passage(Struct, frozen=True):
    """Text, how far it is trusted, and where its least trusted words come from.

    Args:
        source: a URL, a file, a person; empty when that has no name.
    """

    text: str
    provenance: Provenance
    source: str

    def __str__(self) -> str:
        return self.text

    def saying(self, text: str) -> "Passage":
        """Another text that was made of this one alone: cut, cleaned or redacted."""
        return replace(self, text=text)

    def below(self, provenance: Provenance, source: str = "") -> "Passage":
        """The same text, trusted at most so far."""
        if provenance >= self.provenance:
            return self
        return Passage(self.text, provenance, source or self.source)


# What may stand in a result besides words: none of it can be an order
Plain = bool | int | float | enum.Enum | None
Fact = Passage | Plain | Sequence["Fact"] | Mapping[str, "Fact"]


def own(template: LiteralString, *parts: Fact) -> Passage:
    """Our own words: a text that stands in our code, with facts in its braces.

    A gate of the tests sees to it that `template` is written out where this is called.
    """
    if not parts:
        return Passage(template, Provenance.OWNER, "")
    return _joined(template.format(*map(_shown, parts)), parts)


def echo(text: str) -> Passage:
    """Return words that the model or the person said in this turn: they count there already."""
    return Passage(text, Provenance.OWNER, "")


def configured(text: str) -> Passage:
    """A text of the owner's configuration, or of what the owner has approved word for word."""
    return Passage(text, Provenance.OWNER, "")


def outside(text: str, provenance: Provenance, source: str = "") -> Passage:
    """Words of anybody else."""
    return Passage(text, provenance, source)


def fields(told: Fact) -> Passage:
    """Facts as JSON, as tools answer."""
    return _joined(_as_json(plain(told)), [told])


def read(told: object, provenance: Provenance, source: str = "") -> Passage:
    """Return what was read elsewhere, as JSON; all of it is equally little trusted."""
    return Passage(_as_json(told), provenance, source)


def plain(fact: Fact) -> object:
    """Return facts without their origins, for people and programs: no model is shown them."""
    match fact:
        case Passage():
            return fact.text
        case Mapping():
            return {name: plain(one) for name, one in fact.items()}
        case enum.Enum():
            return fact.value
        case None | bool() | int() | float():
            return fact
        case str() | bytes():
            raise TypeError("a plain text has no origin: say whose words it is")
        case _:
            return [plain(one) for one in fact]


def joined(separator: LiteralString, passages: Iterable[Passage]) -> Passage:
    """One after the other."""
    listed = list(passages)
    return _joined(separator.join(one.text for one in listed), listed)


def lowest(facts: Iterable[Fact]) -> Passage:
    """The least trusted words among them; an empty text of our own where there are none."""
    nothing = Passage("", Provenance.OWNER, "")
    return min(_passages(list(facts)), key=_trust, default=nothing)


def _as_json(told: object) -> str:
    import msgspec  # noqa: PLC0415 - errors have words, too, where nothing else is loaded

    return msgspec.json.encode(told).decode()


def _joined(text: str, facts: Sequence[Fact]) -> Passage:
    least = lowest(facts)
    return Passage(text, least.provenance, least.source)


def _trust(passage: Passage) -> Provenance:
    return passage.provenance


def _passages(fact: Fact) -> Iterable[Passage]:
    if isinstance(fact, Passage):
        yield fact
    elif isinstance(fact, Mapping):
        for one in fact.values():
            yield from _passages(one)
    elif isinstance(fact, Sequence):
        for one in fact:
            yield from _passages(one)


def _shown(fact: Fact) -> str:
    return f"{fact:g}" if isinstance(fact, float) else str(plain(fact))
