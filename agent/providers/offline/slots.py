"""Arguments of a tool out of a clause: names, numbers, on and off, files.

Only what was said is filled in, and only where it fits the schema.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from agent.providers.offline.clauses import Clause
from agent.providers.offline.measures import Amount, converted
from agent.providers.offline.names import PLACE
from agent.providers.offline.senses import SAME, closeness, neighbours
from agent.providers.offline.toolbox import Choice, Name, Parameter, Profile

# A name of which only a part was said, such as `led` of `red led`
_PARTLY = 0.5
# A longer name that fits wholly beats a shorter one within it
_PER_WORD = 0.2
_SPELLED_OUT = 0.1
# Called by another name, it is meant a little less than what has that name for its own
_ALIAS = 0.9
# Called by what its owner calls it
_OWN = 0.5
# Closer than this, two choices are one question
_TIE = 0.04

_PATH_NAMES = frozenset({"path", "file", "filename", "file_name"})


class Filled(Struct, frozen=True):
    """Arguments of a tool, as a clause says them.

    Args:
        tied: parameters for which several choices fit alike, and those choices.
        named: how well the device was named, 0 to a little over 1.
        switched: whether a value such as on was said for a parameter that takes it.
        explained: senses of the clause that are used up.
        numbers: how many numbers are used up.
    """

    arguments: Mapping[str, Any]
    tied: Mapping[str, tuple[Choice, ...]]
    named: float
    switched: bool
    explained: frozenset[str]
    numbers: int


def fill(profile: Profile, clause: Clause) -> Filled:
    """Fill the arguments of one tool; nothing is invented."""
    said = clause.things | clause.actions | clause.values
    arguments: dict[str, Any] = {}
    tied: dict[str, tuple[Choice, ...]] = {}
    explained: set[str] = set()
    named = 0.0
    for parameter in profile.parameters:
        fit, best = _best(parameter, clause, said)
        if len(best) > 1:
            tied[parameter.name] = best
        elif best:
            arguments[parameter.name] = best[0].value
        if not parameter.switches:
            named = max(named, fit)
        for choice in best:
            explained |= _explained(choice, clause.spelling, said)
    _turn(profile, clause, arguments)
    switched = _fill_booleans(profile, said, arguments)
    numbers = _fill_numbers(profile, clause, arguments)
    switched = _fill_level(profile, clause, arguments) or switched
    _fill_paths(profile, clause, arguments)
    switched = switched or any(
        one.switches and (one.name in arguments or one.name in tied) for one in profile.parameters
    )
    return Filled(arguments, tied, named, switched, frozenset(explained), numbers)


def best_choices(
    choices: tuple[Choice, ...], clause: Clause, *, whole: bool = False
) -> tuple[Choice, ...]:
    """Return the choices that a clause names best; several if it cannot be told which."""
    said = clause.things | clause.actions | clause.values
    return _ranked(choices, clause.spelling, said, whole=whole)[1]


def fitting_number(parameter: Parameter, number: float) -> int | float | None:
    """Return a number as this parameter takes it, or None."""
    if not math.isfinite(number):
        return None
    if parameter.minimum is not None and number < parameter.minimum:
        return None
    if parameter.maximum is not None and number > parameter.maximum:
        return None
    if parameter.kind == "integer":
        return int(number) if number == int(number) else None
    return int(number) if number == int(number) else number


def _best(
    parameter: Parameter, clause: Clause, said: AbstractSet[str]
) -> tuple[float, tuple[Choice, ...]]:
    # "on" is a value of its own and never half a name
    return _ranked(parameter.choices, clause.spelling, said, whole=parameter.switches)


def _ranked(
    choices: tuple[Choice, ...], spelling: str, said: AbstractSet[str], *, whole: bool
) -> tuple[float, tuple[Choice, ...]]:
    choices = _own(choices, said)
    fits = [(_fit(choice, spelling, said, whole=whole), choice) for choice in choices]
    best = max((fit for fit, _ in fits), default=0.0)
    if best <= 0:
        return 0.0, ()
    return best, tuple(choice for fit, choice in fits if fit > best - _TIE)


def _own(choices: tuple[Choice, ...], said: AbstractSet[str]) -> tuple[Choice, ...]:
    """Return the choices called by their own names, or in the place that was said, if any."""
    there = tuple(one for one in choices if said & {f"{PLACE}{at}" for at in one.facts.places})
    named = tuple(one for one in there or choices if one.mark in said)
    # A name of which only a part is in the owner's language: 红色 led
    longer = tuple(
        choice
        for choice in there or choices
        if choice.name.senses <= said and any(one.name.senses < choice.name.senses for one in named)
    )
    return longer or named or there or choices


def _fit(choice: Choice, spelling: str, said: AbstractSet[str], *, whole: bool) -> float:
    """Return how well the best name of a choice was said; its own counts a little more."""
    if choice.mark in said:
        return SAME + _OWN
    own = _name_fit(choice.name, spelling, said, whole=whole)
    also = [_name_fit(alias, spelling, said, whole=whole) for alias in choice.aliases]
    return max(own, _ALIAS * max(also, default=0.0))


def _name_fit(name: Name, spelling: str, said: AbstractSet[str], *, whole: bool) -> float:
    if name.spelling and name.spelling in spelling and not whole:
        return SAME + _SPELLED_OUT + _PER_WORD * len(name.senses)
    fits = [closeness(sense, said) for sense in name.senses]
    hits = [fit for fit in fits if fit]
    if fits and len(hits) == len(fits):
        return sum(fits) / len(fits) + _PER_WORD * len(fits)
    return 0.0 if whole or not fits else _PARTLY * sum(hits) / len(fits)


def _explained(choice: Choice, spelling: str, said: AbstractSet[str]) -> set[str]:
    """Return the senses that this choice explains, by any of its names that fit."""
    names = [n for n in (choice.name, *choice.aliases) if _name_fit(n, spelling, said, whole=False)]
    places = {f"{PLACE}{place}" for place in choice.facts.places}
    senses = frozenset({choice.mark, *places}).union(*(name.senses for name in names))
    return {one for one in said if one in senses or neighbours(one) & senses}


def _turn(profile: Profile, clause: Clause, arguments: dict[str, Any]) -> None:
    """Swap open and closed for a choice that is open while it is off."""
    device, switch = profile.device, profile.switch
    if device is None or switch is None or switch.name not in arguments:
        return
    chosen = next((one for one in device.choices if one.value == arguments.get(device.name)), None)
    if chosen is None or chosen.facts.opens != "off" or not clause.values <= {"open", "closed"}:
        return
    others = [one.value for one in switch.choices if one.value != arguments[switch.name]]
    if clause.values and len(others) == 1:
        arguments[switch.name] = others[0]


def _fill_booleans(profile: Profile, said: AbstractSet[str], arguments: dict[str, Any]) -> bool:
    wanted = closeness("on", said) - closeness("off", said)
    booleans = [one for one in profile.parameters if one.kind == "boolean" and one.required]
    if wanted and booleans:
        arguments[booleans[0].name] = wanted > 0
    return bool(wanted and booleans)


def _fill_level(profile: Profile, clause: Clause, arguments: dict[str, Any]) -> bool:
    """Fill on and off of an output that takes a level: the ends of its range."""
    level = level_parameter(profile)
    if level is None or level.name in arguments or clause.numbers:
        return False
    on, off = clause.values & {"on", "open", "high"}, clause.values & {"off", "closed", "low"}
    if bool(on) == bool(off):
        return False
    device = profile.device
    value = None if device is None else arguments.get(device.name)
    opens = next(
        (one.facts.opens for one in (device.choices if device else ()) if one.value == value), "on"
    )
    turned = clause.values <= {"open", "closed"} and opens == "off"
    end = level.maximum if bool(on) != turned else level.minimum
    arguments[level.name] = fitting_number(level, end or 0.0)
    return True


def level_parameter(profile: Profile) -> Parameter | None:
    """Return the share that a tool sets of one of its devices, between two ends."""
    shares = [
        one
        for one in profile.parameters
        if one.unit and one.unit.kind == "share" and one.minimum is not None
    ]
    usable = profile.acts and profile.device is not None and profile.switch is None
    return shares[0] if usable and len(shares) == 1 and shares[0].maximum is not None else None


def _fill_numbers(profile: Profile, clause: Clause, arguments: dict[str, Any]) -> int:
    """Fill numbers in the order they are said, required ones first; return how many were used."""
    waiting = [one for one in profile.parameters if one.kind in {"number", "integer"}]
    waiting.sort(key=lambda one: (one.kept_by is not None, not one.required))
    used = 0
    for amount in clause.amounts:
        parameter = _meant_by(amount, waiting, clause.spelling)
        number = None if parameter is None else converted(amount, parameter.unit)
        if parameter is None or number is None:
            continue
        value = fitting_number(parameter, number)
        if value is not None:
            arguments[parameter.name] = value
        waiting.remove(parameter)
        used += 1
    return used


def may_mean(amount: Amount, parameter: Parameter, spelling: str) -> bool:
    """Return true if a number may be this argument.

    One that can be left as it is takes no bare number: fan maximum 50 says nothing of 50 Hz.
    """
    said = bool(amount.unit) or amount.is_part or f" {parameter.name} " in spelling
    fits = converted(amount, parameter.unit) is not None
    return fits and (said or parameter.kept_by is None)


def _meant_by(amount: Amount, waiting: Sequence[Parameter], spelling: str) -> Parameter | None:
    """Return the argument of the unit that was said, else the first that takes such a number."""
    fitting = [one for one in waiting if may_mean(amount, one, spelling)]
    exact = [one for one in fitting if amount.unit and one.unit]
    return next(iter(exact or fitting), None)


def _fill_paths(profile: Profile, clause: Clause, arguments: dict[str, Any]) -> None:
    for parameter in profile.parameters:
        wanted = parameter.kind == "string" and parameter.name in _PATH_NAMES
        if wanted and clause.paths and parameter.takes(clause.paths[0]):
            arguments[parameter.name] = clause.paths[0]
