"""Groups of senses (actions, values, marks, things), and senses that may replace each other."""

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
    """Return kinds of things that are no light."""
    told = concepts()
    return frozenset((*told["hardware"], *told["openings"])) - frozenset(told["lights"])


@cache
def lights() -> frozenset[str]:
    """Return words that only say that a thing is a light."""
    return frozenset(concepts()["lights"])


@cache
def quantities() -> Mapping[str, Sequence[str]]:
    """Return each quantity that can be more or less, with the things that have it."""
    told: Mapping[str, Sequence[str]] = concepts()["quantities"]
    return told


def things(senses: Iterable[str]) -> frozenset[str]:
    """Return the senses that are neither action nor value nor mark."""
    return frozenset(senses) - actions() - values() - marks()


def neighbours(sense: str) -> frozenset[str]:
    """Return senses that this one may mean if they are what there is."""
    return frozenset(concepts()["near"].get(sense, ()))


def closeness(wanted: str, said: AbstractSet[str]) -> float:
    """Return how well the words name `wanted`: 0, `NEAR` or `SAME`."""
    if wanted in said:
        return SAME
    return NEAR if any(wanted in neighbours(sense) for sense in said) else 0.0
