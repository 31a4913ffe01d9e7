"""Series: a reading by its name, with its unit, as it is kept over the years."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import BadArguments

# What a unit measures, in the words that a model and the offline provider use
_MEASURED = {
    "°C": ("temperature", "warmth", "cold"),
    "%": ("humidity", "moisture"),
    "hPa": ("pressure",),
    "V": ("voltage",),
    "lx": ("brightness", "light"),
    "cm": ("distance", "level"),
}
# Temperatures of chips are not what somebody means who asks for "the temperature"
_CHIPS = ("mcu_temperature", "machine.")
# Part of the name of what a reading was before it measured something else
_FORMER = ".former"
_MOST_NAMED = 20


class SeriesKind(Struct, frozen=True):
    """Description of a reading.

    Args:
        name: tank, climate.humidity, machine.temperature, or garden:tank of a further board.
        unit: of its values; empty where it has none.
        is_switch: it is on or off.
        is_board: the board says it, not this machine.
    """

    name: str
    unit: str = ""
    is_switch: bool = False
    is_board: bool = True

    def measures(self, other: "SeriesKind") -> bool:
        """Return if values of this kind may lie beside those of another: a unit may be learned."""
        return self.is_switch == other.is_switch and other.unit in {"", self.unit}


class Series(Struct, frozen=True):
    """A reading in the store; `cadence_s` is the time between two of its values."""

    id: int
    kind: SeriesKind
    cadence_s: int

    @property
    def name(self) -> str:
        return self.kind.name


def find_series(
    every: Sequence[Series], said: str, called: Mapping[str, Collection[str]]
) -> Series:
    """Return the one reading that is meant.

    Args:
        called: aliases, places and groups of a pin, by its name.

    Raises:
        BadArguments: none is, or several are; the text names those there are.
    """
    exact = [one for one in every if one.name == said]
    if exact:
        return exact[0]
    wanted = _plain(said)
    fitting = [(rank, one) for one in every if (rank := _rank(one, wanted, called)) is not None]
    # What a reading was before is meant where nothing else is
    ranked = [(rank, one) for rank, one in fitting if not _was(one.name)] or fitting
    if not ranked:
        raise BadArguments(f"nothing is recorded as {said!r}; there are {_named(every)}")
    best = min(rank for rank, _ in ranked)
    found = [one for rank, one in ranked if rank == best]
    if len(found) > 1:
        raise BadArguments(f"{said!r} may be one of {_named(found)}: name one of them")
    return found[0]


def renamed(every: Sequence[Series], kinds: Iterable[SeriesKind]) -> list[Series]:
    """Return series under their new names, step by step, before some of these kinds are kept.

    Volts of a tank that was calibrated are no litres: what measured something else gives its name
    up, and what measured the same before has it again.
    """
    now, steps = {one.id: one for one in every}, []
    for kind in kinds:
        for one, name in _renamings({one.name: one for one in now.values()}, kind):
            now[one.id] = replace(one, kind=replace(one.kind, name=name))
            steps.append(now[one.id])
    return steps


def _renamings(known: Mapping[str, Series], kind: SeriesKind) -> list[tuple[Series, str]]:
    bearer = known.get(kind.name)
    if bearer is None:
        # Another archive gave it the name already
        here = known.get(_was(kind.name))
        return [(here, kind.name)] if here is not None and kind.measures(here.kind) else []
    if kind.measures(bearer.kind):
        return []
    steps = [(bearer, _former(kind.name, known))]
    former = next((one for one in known.values() if _is_former(one, kind)), None)
    if former is not None:
        # They change their names
        steps += [(former, kind.name), (bearer, former.name)]
    return steps


def _is_former(one: Series, kind: SeriesKind) -> bool:
    return _was(one.name) == kind.name and kind.measures(one.kind)


def _former(name: str, taken: Collection[str]) -> str:
    first = f"{name}{_FORMER}"
    more = (f"{first}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([first], more) if one not in taken)


def _was(name: str) -> str:
    """Return the name that a series with a former's name had; empty for any other."""
    base, former, count = name.rpartition(_FORMER)
    return base if former and (not count or count[1:].isdecimal()) else ""


def pin_of(series: Series) -> str:
    """Return the pin that the reading is of, without the name of its board."""
    return series.name.rpartition(":")[2].partition(".")[0]


def _rank(series: Series, wanted: str, called: Mapping[str, Collection[str]]) -> int | None:
    """Return how near the words come, 0 is nearest; None where they do not fit."""
    name = _plain(series.name)
    short = name.rpartition(":")[2]
    pin, _, part = short.partition(".")
    words = {_plain(one) for one in called.get(pin_of(series), ())}
    measures = {part or pin, *_MEASURED.get(series.kind.unit, ())}
    penalty = 10 if series.name.startswith(_CHIPS) else 0
    if wanted in {name, short}:
        return 0
    if wanted == pin or wanted in words:
        return 1 if not part else 2
    if any(wanted == f"{one} {measure}" for one in (pin, *words) for measure in measures):
        return 1
    if wanted == part:
        return 3 + penalty
    return 4 + penalty if wanted in measures else None


def _plain(words: str) -> str:
    """Return words as they are compared: capitals and underscores make no difference."""
    return " ".join(words.casefold().replace("_", " ").split())


def _named(every: Sequence[Series]) -> str:
    names = [one.name for one in every]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more if names else "no readings yet"
