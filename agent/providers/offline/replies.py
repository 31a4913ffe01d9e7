"""Replies to a question that was asked before."""

import re
from collections.abc import Sequence

from agent.providers.offline.clarity import CONDITIONS, DOUBTS, ONLY_NOW
from agent.providers.offline.clauses import Clause
from agent.providers.offline.plan import (
    AskStep,
    CallDraft,
    CallStep,
    Item,
    Need,
    Reason,
    ReplyOption,
    SayStep,
    Step,
    confirmation,
    settle,
    step_of,
    with_argument,
)
from agent.providers.offline.slots import best_choices, fitting_number
from agent.providers.offline.units import EDGES

_ORDINALS = ("first", "second", "third")
# What is chosen is called by a name, which may have a number
_NAMING = frozenset({Reason.WHICH, Reason.MEAN})
_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)")
_UNCLEAR = CONDITIONS | DOUBTS | {"question", "negate"}
_CONFIRMING = frozenset({Reason.CONFIRM, Reason.FORGET_THIS, Reason.PHRASE})


def replied(asked: AskStep, text: str, clauses: Sequence[Clause]) -> Step | None:
    """Return the step that a reply leads to; None if the message is no reply."""
    clause = clauses[0]
    if clause.marks & {"no", "cancel"} or (clause.marks & {"negate"} and not clause.weighs):
        return SayStep("cancelled")
    need = asked.need
    several = len(clauses) > 1 and need.reason in _NAMING
    items = _settled_all(need, clauses) if several else _settled(need, text, clause)
    if items is None:
        return None
    plan: list[Item] = []
    for item in asked.plan:
        plan += items if item is need else [item]
    return step_of(tuple(plan))


def overrides(step: Step | None, clauses: Sequence[Clause], asked: AskStep) -> bool:
    """Return true if the message is an order of its own, whatever was asked before it."""
    if not isinstance(step, CallStep):
        return False
    named = {sense for option in asked.need.options for sense in option.choice.senses}
    values = frozenset().union(*(clause.values for clause in clauses))
    ordered = any(clause.actions for clause in clauses)
    return ordered or bool(values - named)


def _settled(need: Need, text: str, clause: Clause) -> list[Item] | None:
    marks = clause.marks
    if marks & {"question", "negate"}:
        return None
    if need.reason in _CONFIRMING:
        plain = "yes" in marks and not marks & (CONDITIONS | DOUBTS)
        return _all(need.options) if plain else None
    if need.reason is Reason.FILL:
        return _filled(need, text, clause)
    every = list(need.options) if marks & {"all", "both"} else []
    chosen = every or _spelled(need.options, text) or _chosen(need, clause)
    if len(chosen) > 1 and not marks & {"all", "both"}:
        reason = Reason.MEAN if need.reason is Reason.WHICH else need.reason
        return [Need(reason, tuple(chosen), need.parameter)]
    if chosen and marks & CONDITIONS:
        drafts = tuple(draft for option in chosen for draft in option.drafts)
        return [confirmation(drafts, ONLY_NOW)]
    return _all(chosen) or None


def _settled_all(need: Need, clauses: Sequence[Clause]) -> list[Item] | None:
    """Return the items for a reply that names several: the first and the third."""
    chosen: list[ReplyOption] = []
    for clause in clauses:
        found = _chosen(need, clause)
        if len(found) != 1 or clause.marks & _UNCLEAR:
            return None
        chosen += [one for one in found if one not in chosen]
    return _all(chosen)


def _spelled(options: Sequence[ReplyOption], text: str) -> list[ReplyOption]:
    """Return the option that a reply is, letter by letter: its words may be those of others."""
    said = text.strip(EDGES).casefold()
    same = [option for option in options if option.choice.text.casefold() == said]
    return same if len(same) == 1 else []


def _chosen(need: Need, clause: Clause) -> list[ReplyOption]:
    """Return the options that a reply names, by their words, their numbers or their place."""
    options = need.options
    best = best_choices(tuple(option.choice for option in options), clause)
    if best:
        return [option for option in options if option.choice in best]
    ordinals = [at for at, one in enumerate(_ORDINALS, 1) if one in clause.marks]
    if len(ordinals) > 1:
        return [options[at - 1] for at in ordinals if at <= len(options)]
    number = clause.numbers[0].number if len(clause.numbers) == 1 else None
    said = ordinals[0] if ordinals else number
    if said is None:
        return list(options) if "yes" in clause.marks and len(options) == 1 else []
    placed = [options[int(said) - 1]] if said in range(1, len(options) + 1) else []
    if need.reason not in _NAMING or not any(map(_numbers_of, options)):
        return placed
    named = [option for option in options if said in _numbers_of(option)]
    # The second of valve 2 and valve 3 may be either
    return named if not ordinals else [*named, *(one for one in placed if one not in named)]


def _numbers_of(option: ReplyOption) -> frozenset[int]:
    """Return the numbers in the names of a thing."""
    choice = option.choice
    names = (choice.text, *(alias.spelling for alias in choice.aliases))
    return frozenset(int(one) for name in names for one in _NUMBER.findall(name))


def _filled(need: Need, text: str, clause: Clause) -> list[Item] | None:
    parameter, draft = need.parameter, need.options[0].drafts[0]
    if parameter is None:
        return None
    value: object = None
    if parameter.kind in {"number", "integer"} and clause.numbers:
        number = clause.numbers[0].number
        value = None if number is None else fitting_number(parameter, number)
    elif parameter.kind == "boolean" and clause.senses & {"yes", "on", "off"}:
        value = "off" not in clause.senses
    elif parameter.kind == "string" and text.strip() and parameter.takes(text.strip()):
        value = text.strip()
    return None if value is None else [settle(with_argument(draft, parameter.name, value))]


def _all(options: Sequence[ReplyOption]) -> list[Item]:
    drafts: list[CallDraft] = [draft for option in options for draft in option.drafts]
    return [settle(draft) for draft in drafts]
