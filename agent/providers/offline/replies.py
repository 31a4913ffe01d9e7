"""Replies to a question that was asked before."""

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
_CONFIRMING = frozenset({Reason.CONFIRM, Reason.FORGET_THIS, Reason.PHRASE})


def replied(asked: AskStep, text: str, clauses: Sequence[Clause]) -> Step | None:
    """Return the step that a reply leads to; None if the message is no reply."""
    clause = clauses[0]
    if clause.marks & {"no", "cancel"} or (clause.marks & {"negate"} and not clause.weighs):
        return SayStep("cancelled")
    need = asked.need
    items = _settled(need, text, clause)
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
    chosen = every or _spelled(need.options, text) or _chosen(need.options, clause)
    if len(chosen) > 1 and not marks & {"all", "both"}:
        reason = Reason.MEAN if need.reason is Reason.WHICH else need.reason
        return [Need(reason, tuple(chosen), need.parameter)]
    if chosen and marks & CONDITIONS:
        drafts = tuple(draft for option in chosen for draft in option.drafts)
        return [confirmation(drafts, ONLY_NOW)]
    return _all(chosen) or None


def _spelled(options: Sequence[ReplyOption], text: str) -> list[ReplyOption]:
    """Return the option that a reply is, letter by letter: its words may be those of others."""
    said = text.strip(EDGES).casefold()
    same = [option for option in options if option.choice.text.casefold() == said]
    return same if len(same) == 1 else []


def _chosen(options: Sequence[ReplyOption], clause: Clause) -> list[ReplyOption]:
    """Return the options that a reply names, by their words or by their place."""
    choices = tuple(option.choice for option in options)
    best = best_choices(choices, clause)
    if best:
        return [option for option in options if option.choice in best]
    for place, ordinal in enumerate(_ORDINALS):
        if ordinal in clause.marks:
            return list(options[place : place + 1])
    number = clause.numbers[0].number if len(clause.numbers) == 1 else None
    if number is not None and number in range(1, len(options) + 1):
        return [options[int(number) - 1]]
    if "yes" in clause.marks and len(options) == 1:
        return list(options)
    return []


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
