"""Orders for more or less: the last value that was set, changed by a step within its range.

Nothing is set that was not set before: a value that was only read is asked about, and where there
is none the number is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from agent.providers.offline.amounts import tidied
from agent.providers.offline.clarity import ASKING, CONDITIONS, DOUBTS
from agent.providers.offline.clauses import Clause
from agent.providers.offline.conversation import ConversationTurn, table_of
from agent.providers.offline.measures import TIME, converted
from agent.providers.offline.past_calls import PastCall, done_in
from agent.providers.offline.plan import (
    CallDraft,
    SayStep,
    Step,
    confirmation,
    settle,
    step_of,
    with_argument,
)
from agent.providers.offline.senses import closeness, quantities
from agent.providers.offline.slots import best_choices, fitting_number
from agent.providers.offline.toolbox import Parameter, Profile, Toolbox

# What "more" is when nobody says how much: a person notices it, and nothing is startled
_STEPS = {"temperature": 1.0, "share": 10.0, "angle": 10.0}
# Of the range, where the unit says nothing
_STEP_SHARE = 0.1
_SLIGHTLY = 0.5
_GREATLY = 2.5

_OTHERWISE_MEANT = (
    ASKING | CONDITIONS | DOUBTS | {"state", "mine", "above", "below", "watch", "unwatch", "past"}
)


class _Dial(Struct, frozen=True):
    """Tool that sets one number."""

    profile: Profile
    parameter: Parameter


def adjustment(
    clauses: Sequence[Clause], box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    """Return the step for more or less of something; None if nothing can be more or less."""
    if len(clauses) != 1 or not is_relative(clauses[0]):
        return None
    (clause,) = clauses
    dials = list(_dials(box))
    for done in _newest_first(past, box):
        dial = next((one for one in dials if one.profile == done.profile), None)
        value = None if dial is None else _value(done, dial.parameter)
        if dial is not None and value is not None and _belongs(done, clause):
            return _moved(dial, done, value, clause)
    return _from_nothing(dials, clause, past)


def is_relative(clause: Clause) -> bool:
    """Return true for an order of more or less and nothing else."""
    marks = clause.marks
    one_way = ("more" in marks) != ("less" in marks)
    if not one_way or marks & (_OTHERWISE_MEANT - {"question"}) or clause.doubted or clause.aims:
        return False
    asked = "question" in marks and "request" not in marks
    other = clause.actions - {"switch", "set", "move"} or clause.paths or "negate" in marks
    # To turn the brightness up is no switching on
    return not asked and not other and not clause.values and len(clause.amounts) <= 1


def _dials(box: Toolbox) -> Iterator[_Dial]:
    for profile in box.speakable:
        numbers = [
            one
            for one in profile.parameters
            if one.kind in {"number", "integer"} and one.required and one.kept_by is None
        ]
        ranged = [one for one in numbers if one.minimum is not None and one.maximum is not None]
        lasts = any(one.unit and one.unit.kind == TIME for one in ranged)
        if profile.acts and len(numbers) == 1 and ranged and not lasts:
            yield _Dial(profile, ranged[0])


def _newest_first(past: Sequence[ConversationTurn], box: Toolbox) -> Iterator[PastCall]:
    for turn in reversed(past):
        yield from (done for done in reversed(done_in(turn, box)) if not done.failed)


def _value(done: PastCall, parameter: Parameter) -> float | None:
    """Return the last value as it was read back, else as it was ordered."""
    for told in (done.result.get(parameter.name), done.order.arguments.get(parameter.name)):
        if isinstance(told, (int, float)) and not isinstance(told, bool):
            return fitting_number(parameter, told)
    return None


def _belongs(done: PastCall, clause: Clause) -> bool:
    """Return true if a clause names what was set, or names nothing and could mean it."""
    device = done.device
    senses = done.profile.words | (device.senses if device else frozenset())
    wanted = clause.things & quantities().keys()
    owners = {name for name, members in quantities().items() if senses & set(members)}
    if wanted and owners and not owners & wanted:
        return False
    named = _named(clause)
    if not named:
        return True
    spelled = device is not None and device.name.spelling in clause.spelling
    return spelled or all(closeness(one, senses) or one in senses for one in named)


def _named(clause: Clause) -> frozenset[str]:
    """Return the things of a clause beside the quantity and units."""
    units = {sense for piece in clause.measures for sense in piece.senses}
    unit_words = {f"~{piece.text}" for piece in clause.measures}
    counted = {one for one in clause.joined_names if clause.amounts}
    return clause.things - quantities().keys() - units - unit_words - counted


def _moved(dial: _Dial, done: PastCall, value: float, clause: Clause) -> Step | None:
    new = _stepped(dial.parameter, value, clause)
    if new is None:
        return None
    if clause.amounts and not _fits(dial.parameter, value, clause):
        # So much was said plainly: how far it is to go is for the person to say
        kept = {k: v for k, v in done.order.arguments.items() if k != dial.parameter.name}
        return step_of((settle(CallDraft(dial.profile, kept)),))
    if new == value:
        return SayStep("at_limit", {"value": tidied(value)})
    draft = CallDraft(dial.profile, {**done.order.arguments, dial.parameter.name: new})
    return step_of((settle(draft),))


def _stepped(parameter: Parameter, value: float, clause: Clause) -> int | float | None:
    """Return the value after one step, at most to the end of the range."""
    low, high = parameter.minimum or 0.0, parameter.maximum or 0.0
    step: float | None
    if clause.amounts:
        step = converted(clause.amounts[0], parameter.unit)
    else:
        kind = parameter.unit.kind if parameter.unit else ""
        step = _STEPS.get(kind, (high - low) * _STEP_SHARE)
        step *= _SLIGHTLY if "slightly" in clause.marks else 1
        step *= _GREATLY if "greatly" in clause.marks else 1
    if step is None:
        return None
    if parameter.kind == "integer":
        step = max(1, round(step))
    new = value + (step if "more" in clause.marks else -step)
    return fitting_number(parameter, round(min(high, max(low, new)), 6))


def _fits(parameter: Parameter, value: float, clause: Clause) -> bool:
    """Return true if the step that was said stays within the range."""
    step = converted(clause.amounts[0], parameter.unit) or 0.0
    new = value + (step if "more" in clause.marks else -step)
    return (parameter.minimum or 0.0) <= new <= (parameter.maximum or 0.0)


def _from_nothing(
    dials: Sequence[_Dial], clause: Clause, past: Sequence[ConversationTurn]
) -> Step | None:
    """Ask for a value if nothing was set, from the last reading if there is one."""
    meant = [one for one in dials if _is_meant(one, clause)]
    if len(meant) != 1:
        return None
    (dial,) = meant
    arguments: dict[str, Any] = {}
    device = dial.profile.device
    if device is not None:
        best = best_choices(device.choices, clause) or device.choices
        if len(best) == 1:
            arguments[device.name] = best[0].value
    draft = CallDraft(dial.profile, arguments)
    read = _read_before(dial, past)
    new = None if read is None else _stepped(dial.parameter, read, clause)
    if new is None or (device is not None and not arguments):
        return step_of((settle(draft),))
    return step_of((confirmation((with_argument(draft, dial.parameter.name, new),), ""),))


def _is_meant(dial: _Dial, clause: Clause) -> bool:
    """Return true if the clause names the quantity of a dial, or its device."""
    wanted = clause.things & quantities().keys()
    devices = dial.profile.device.choices if dial.profile.device else ()
    senses = dial.profile.words.union(*(choice.senses for choice in devices))
    members = {member for one in wanted for member in quantities()[one]}
    named = _named(clause)
    known = all(closeness(one, senses) or one in senses for one in named)
    return known and bool(senses & members or named)


def _read_before(dial: _Dial, past: Sequence[ConversationTurn]) -> float | None:
    """Return the last reading in the very unit of the dial."""
    unit = dial.parameter.unit
    for turn in reversed(past):
        for exchange in reversed(turn.exchanges):
            result = table_of(exchange.result)
            value = result.get("value")
            same = unit is not None and result.get("unit") == unit.symbol
            if same and isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
    return None
