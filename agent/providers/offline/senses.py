"""Which senses are actions, values, marks or things, and which may stand for one another."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache

from agent.providers.offline.lexicon import concepts

# How well a sense answers another: its own, a neighbour's
SAME = 1.0
NEAR = 0.7


@cache
def actions() -> frozenset[str]:
    return frozenset(concepts()["kinds"]["actions"])


@cache
def values() -> frozenset[str]:
    return frozenset(concepts()["kinds"]["values"])


@cache
def marks() -> frozenset[str]:
    return frozenset(concepts()["kinds"]["marks"])


@cache
def hardware() -> frozenset[str]:
    return frozenset(concepts()["hardware"])


@cache
def kinds() -> frozenset[str]:
    """Kinds of things that are no light."""
    told = concepts()
    return frozenset((*told["hardware"], *told["openings"])) - frozenset(told["lights"])


@cache
def lights() -> frozenset[str]:
    """Words that only say that a thing is a light."""
    return frozenset(concepts()["lights"])


@cache
def quantities() -> Mapping[str, Sequence[str]]:
    """What can be more or less, and the things that it belongs to."""
    told: Mapping[str, Sequence[str]] = concepts()["quantities"]
    return told


def things(senses: Iterable[str]) -> frozenset[str]:
    """What is neither action nor value nor mark."""
    return frozenset(senses) - actions() - values() - marks()


def neighbours(sense: str) -> frozenset[str]:
    """Senses that this one may mean when they are what there is."""
    return frozenset(concepts()["near"].get(sense, ()))


def closeness(wanted: str, said: AbstractSet[str]) -> float:
    """How well what was said names `wanted`: 0, `NEAR` or `SAME`."""
    if wanted in said:
        return SAME
    return NEAR if any(wanted in neighbours(sense) for sense in said) else 0.0
