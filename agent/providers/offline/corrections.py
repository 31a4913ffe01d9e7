"""Messages that take back what was just done: no, don't, undo that.

It is done already: that is said, and the way back is offered by a question. The way back is how the
thing was before, as far as the conversation tells, else its rest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from agent.providers.offline.all_off import rest_of
from agent.providers.offline.clarity import ASKING
from agent.providers.offline.clauses import Clause
from agent.providers.offline.conversation import ConversationTurn, Exchange, table_of
from agent.providers.offline.delayed_orders import FOR_SECONDS, REMINDER
from agent.providers.offline.learned_phrases import corrects
from agent.providers.offline.past_calls import FAILURE
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.plan import (
    MAX_CALLS,
    AskStep,
    CallDraft,
    CallStep,
    Order,
    Reason,
    SayStep,
    Step,
    confirmation,
    settle,
    step_of,
)
from agent.providers.offline.scheduled_orders import JOB_NAME, JOB_REMOVE
from agent.providers.offline.statements import OFF, ON
from agent.providers.offline.timers import CANCEL, START
from agent.providers.offline.toolbox import MEMORY_FORGET, MEMORY_STORE, Profile, Toolbox
from agent.providers.offline.units import UnitKind

# What is longer says more than that something was not to be
_MAX_WORDS = 8
_TAKING_BACK = frozenset({"no", "cancel"})
# Not faster, not again
_CHANGING = frozenset({"more", "less", "again", "another", "too"})
_LOOKS = frozenset({"read", "list"})
_ENDS = re.compile(r"[,;.!、，；。！]")
# Answers to a message that moved nothing and was not about anything else
_WITHOUT_ACT = frozenset({"left_alone", "not_understood", "unaccounted", "not_plain"})
WATCH_ADD, WATCH_REMOVE = "watch_add", "watch_remove"


def taken_back(
    analysis: Analysis,
    clauses: Sequence[Clause],
    step: Step | None,
    box: Toolbox,
    past: Sequence[ConversationTurn],
) -> Step | None:
    """Return the step for a message that takes back the last turn; None for any other.

    Args:
        step: what it would come to otherwise; it moves nothing.
    """
    changes = _changes(past[-1], box) if past else []
    if not changes or not _may_replace(step) or not _takes_back(analysis, clauses, step, box):
        return None
    if _denies_another(clauses, changes, box):
        return None
    halts = _halts(step, clauses)
    drafts: list[CallDraft] = []
    for exchange in reversed(changes):
        draft = _way_back(exchange, [] if halts else past[:-1], box)
        if draft is not None and draft not in drafts:
            drafts.append(draft)
    if not drafts:
        return SayStep("already_done")
    if halts and all(map(_is_off, drafts)):
        return replace(step_of(tuple(settle(one) for one in drafts[:MAX_CALLS])), earlier=True)
    return AskStep((confirmation(tuple(drafts[:MAX_CALLS]), "already_done_so"),), earlier=True)


def _halts(step: Step | None, clauses: Sequence[Clause]) -> bool:
    """Return true for a stop without a thing: what was just started is to end at once."""
    values = frozenset().union(*(clause.values for clause in clauses))
    asks_which = isinstance(step, AskStep) and step.need.reason is Reason.WHICH
    return asks_which and values == {"off"}


def _is_off(draft: CallDraft) -> bool:
    device = draft.profile.device
    value = None if device is None else draft.arguments.get(device.name)
    choices = () if device is None else device.choices
    return any(one.value == value and one.facts.safe == "off" for one in choices)


def _may_replace(step: Step | None) -> bool:
    """Return true for a step that does nothing that was asked for."""
    if isinstance(step, SayStep):
        return step.key in _WITHOUT_ACT
    if isinstance(step, AskStep):
        return step.need.reason in {Reason.WHICH, Reason.CONFIRM} and not step.earlier
    return step is None or (isinstance(step, CallStep) and not step.purpose)


def _takes_back(
    analysis: Analysis, clauses: Sequence[Clause], step: Step | None, box: Toolbox
) -> bool:
    words = [one for one in analysis.pieces if one.kind is not UnitKind.MARK]
    marks = frozenset().union(*(clause.marks for clause in clauses))
    asks = "?" in analysis.text.replace("？", "?") or marks & ASKING
    looks = any(clause.actions & _LOOKS for clause in clauses)
    if asks or looks or not words or len(words) > _MAX_WORDS:
        return False
    is_praise = any("thanks" in piece.senses for piece in words)
    if step == SayStep("left_alone") or (corrects(analysis.text) and not is_praise):
        return True
    # No, the light: the word means it only alone
    first = analyse(_ENDS.split(analysis.text.strip(), maxsplit=1)[0], analysis.code, box.names)
    return any(_TAKING_BACK.intersection(piece.senses) for piece in first.pieces)


def _denies_another(clauses: Sequence[Clause], changes: Sequence[Exchange], box: Toolbox) -> bool:
    """Return true where something else than what was done is not to be: don't turn it off."""
    denied = [clause for clause in clauses if "negate" in clause.senses]
    if any(clause.marks & _CHANGING for clause in denied):
        return True
    done = [_done_values(one, box) for one in changes]
    said = frozenset().union(*(clause.values for clause in denied))
    return bool(said) and not any(said & values for values in done)


def _done_values(done: Exchange, box: Toolbox) -> frozenset[str]:
    profile = box.find(done.order.tool)
    switch = None if profile is None else profile.switch
    value = "on" if switch is None else str(done.order.arguments.get(switch.name))
    return next(one for one in (OFF, ON) if value in one or one is ON)


def _changes(turn: ConversationTurn, box: Toolbox) -> list[Exchange]:
    """Return the calls of a turn that changed something."""
    return [
        one
        for one in turn.exchanges
        if (profile := box.find(one.order.tool)) is not None
        and profile.acts
        and not one.result.startswith(FAILURE)
    ]


def _way_back(done: Exchange, before: Sequence[ConversationTurn], box: Toolbox) -> CallDraft | None:
    kept = _kept_call(done)
    if kept is not None:
        undoing = box.find(kept.tool)
        return None if undoing is None else CallDraft(undoing, kept.arguments)
    profile = next((one for one in box.speakable if one.name == done.order.tool), None)
    ways = () if profile is None else _ways_back(done.order, profile, before, box)
    given = done.order.arguments
    return next((one for one in ways if not one.arguments.items() <= given.items()), None)


def _kept_call(done: Exchange) -> Order | None:
    """Return the call that removes a timer, a reminder, a job, a watch or a memory."""
    given, result = done.order.arguments, table_of(done.result)
    in_s = given.get("in_seconds" if done.order.tool == REMINDER else "seconds")
    if done.order.tool in {START, REMINDER} and in_s is not None:
        return Order(CANCEL, {"set_for_seconds": in_s, "reminder": bool(given.get("text"))})
    if done.order.tool == REMINDER:
        told = result.get("reminder")
        name = str(told.get("job")) if isinstance(told, Mapping) else ""
        return Order(JOB_REMOVE, {"name": name}) if JOB_NAME.fullmatch(name) else None
    if done.order.tool == WATCH_ADD:
        return Order(WATCH_REMOVE, {"name": given.get("name")})
    if done.order.tool == MEMORY_STORE and isinstance(result.get("stored"), str):
        return Order(MEMORY_FORGET, {"key": result["stored"]})
    return None


def _ways_back(
    order: Order, profile: Profile, before: Sequence[ConversationTurn], box: Toolbox
) -> Iterator[CallDraft]:
    """Yield how a thing was before, and its rest."""
    earlier = _earlier(order, profile, before)
    if earlier is not None:
        yield CallDraft(profile, earlier)
    if profile.device is None:
        return
    # What ran for a time is switched by another tool
    for one in (profile, *box.speakable):
        if one.acts and (rest := _rest(one, order.arguments.get(profile.device.name))) is not None:
            yield CallDraft(one, rest)
            return


def _earlier(
    order: Order, profile: Profile, before: Sequence[ConversationTurn]
) -> Mapping[str, Any] | None:
    """Return the arguments of the last call for the same thing; None if it was for a time."""
    name = None if profile.device is None else profile.device.name
    calls = [
        one.order.arguments
        for turn in before
        for one in turn.exchanges
        if one.order.tool == order.tool and not one.result.startswith(FAILURE)
        if name is None or one.order.arguments.get(name) == order.arguments.get(name)
    ]
    return calls[-1] if calls and not calls[-1].get(FOR_SECONDS) else None


def _rest(profile: Profile, value: object) -> Mapping[str, Any] | None:
    device = profile.device
    if device is None or any(one.unit and one.unit.kind == "angle" for one in profile.parameters):
        # A servo that is let go is not where it was
        return None
    choice = next((one for one in device.choices if one.value == value), None)
    rest = None if choice is None else rest_of(profile, choice)
    return None if rest is None else {device.name: value, **rest}
