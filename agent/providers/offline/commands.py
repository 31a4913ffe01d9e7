"""Decision to act, ask, look or say: the one place where it is made.

An output moves only when the order is plain. A denial does nothing; a supposition does nothing; a
time, a condition, a reported order or words that were not understood are asked back about.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.all_off import all_at_rest
from agent.providers.offline.clarity import ASKING, CONDITIONS, DOUBTS, ONLY_NOW, doubt
from agent.providers.offline.clauses import Clause
from agent.providers.offline.plan import (
    MAX_CALLS,
    MAX_OPTIONS,
    CallDraft,
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
from agent.providers.offline.readings import MARGIN, ToolReading, is_switched, orders, readings
from agent.providers.offline.refusals import refusal
from agent.providers.offline.senses import closeness, things
from agent.providers.offline.slots import best_choices, fill
from agent.providers.offline.toolbox import Choice, Name, Profile, Toolbox, bare_light, spelling_of
from agent.providers.offline.units import UnitKind

# What was, who did it and what a document says, no reading of a pin tells
_ELSEWHERE = frozenset({"past", "fact", "sheet"})
# Warmer is a wish, and no question how warm it is
_RELATIVE = frozenset({"more", "less"})
# More clauses than this are a story
_MAX_CLAUSES = 8
# As if it had been said
_LIT = ("switch", "on")
# So many unknown words in another clause make the orders of its sentence doubtful; a name does not
_UNKNOWN_ELSEWHERE = 2


class _Meant(Struct, frozen=True):
    """Meaning of one clause: items of a plan, or something to say instead."""

    items: tuple[Item, ...] = ()
    instead: SayStep | None = None


def command(clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Return the step that these clauses order or ask; None when no tool is meant."""
    whole = _completed(clauses[:_MAX_CLAUSES], box)
    meant = [_meant(clause, box) for clause in _doubting(whole, box)]
    items = tuple(item for one in meant if one for item in one.items)
    if items:
        return step_of(items)
    return next((one.instead for one in meant if one and one.instead), None)


def tool_step(profile: Profile, clauses: Sequence[Clause], *, asked: bool) -> Step | None:
    """Return the step for a tool that only its description supports: always asked first."""
    if profile.acts and asked:
        return None
    draft = CallDraft(profile, fill(profile, clauses[0]).arguments)
    if not profile.acts:
        return step_of((settle(draft),))
    item = settle(draft)
    return step_of((item if isinstance(item, Need) else confirmation((draft,), ""),))


def _doubting(clauses: Sequence[Clause], box: Toolbox) -> list[Clause]:
    """Return the clauses, doubtful if the rest of their sentence was not understood."""
    vague = {
        clause.sentence
        for before, clause in pairwise((Clause((), frozenset(), -1), *clauses))
        if _is_vague(before, clause) and _meant(clause, box) is None
    }
    return [
        replace(clause, doubted=clause.doubted or clause.sentence in vague) for clause in clauses
    ]


def _is_vague(before: Clause, clause: Clause) -> bool:
    """Return true if a clause has several unknown words, or is joined to the one before it."""
    joined = clause.sentence == before.sentence and "join" in before.senses
    return joined or len(clause.unknown) >= _UNKNOWN_ELSEWHERE


def _completed(clauses: Sequence[Clause], box: Toolbox) -> list[Clause]:
    """Give clauses that only name something the verb of their neighbour."""
    switched = {choice for profile in box.speakable if profile.acts for choice in _senses(profile)}
    result = _with_values(clauses)
    for position, clause in enumerate(result):
        bare = clause.things and not clause.actions and not clause.values
        if not bare or not any(closeness(one, clause.things) for one in switched):
            continue
        around = [*reversed(result[:position]), *result[position + 1 :]]
        lender = next((one for one in around if orders(one)), None)
        if lender is not None:
            lent = tuple(p for p in lender.pieces if _is_lendable(p.senses, lender))
            result[position] = replace(clause, pieces=(*lent, *clause.pieces))
    return result


def _with_values(clauses: Sequence[Clause]) -> list[Clause]:
    """Give a verb the value at the end of the next clause: turn the led and the pump on."""
    result = list(clauses)
    halves = {one.sentence for one in clauses if one.actions == {"switch"} and not one.values}
    for position in range(len(result) - 2, -1, -1):
        clause, after = result[position], result[position + 1]
        bare = not clause.values and not after.actions and clause.actions <= {"switch"}
        named = clause.things and after.things and after.sentence == clause.sentence
        if bare and named and clause.sentence in halves and len(after.values) == 1:
            lent = tuple(p for p in after.pieces if after.values.intersection(p.senses))
            result[position] = replace(clause, pieces=(*clause.pieces, *lent))
    return result


def _senses(profile: Profile) -> frozenset[str]:
    device = profile.device
    if device is None:
        return frozenset()
    return frozenset(sense for choice in device.choices for sense in choice.senses)


def _is_lendable(senses: Sequence[str], lender: Clause) -> bool:
    kinds = lender.actions | lender.values | {"negate", "request", "object"}
    # German aus is out of as well
    weighing = {one for one in senses if one not in {"join", "stop"}}
    return bool(weighing) and kinds.issuperset(weighing)


def _meant(clause: Clause, box: Toolbox) -> _Meant | None:
    clause = _lit(clause, box)
    acting = readings(clause, box, acting=True)
    looking = readings(clause, box, acting=False)
    marks = clause.marks
    ordered = orders(clause) or _is_own_verb(acting, looking, clause)
    if ordered and "state" not in marks and (acting or _switches(box)):
        if "negate" in marks:
            return _Meant(instead=SayStep("left_alone"))
        if "past" in marks:
            return None
        if "suppose" in marks and marks & ASKING and acting:
            return _Meant(instead=SayStep("supposed"))
        if not marks & {"ask", "fact"}:
            return _act(acting, clause, box)
    if acting and not looking and "suppose" in marks:
        return _Meant(instead=SayStep("supposed"))
    return _look(looking, clause, box)


def _lit(clause: Clause, box: Toolbox) -> Clause:
    """Read the name of a light alone as an order to turn it on."""
    devices = [one.device for one in box.speakable if one.acts and one.switch and one.device]
    found = [one for device in devices if (one := bare_light(clause.pieces, device.choices))]
    if len(found) != 1 or clause.colours:
        return clause
    return replace(clause, pieces=(*clause.pieces, replace(clause.pieces[0], senses=_LIT, text="")))


def _is_own_verb(acting: list[ToolReading], looking: list[ToolReading], clause: Clause) -> bool:
    """Return true if a clause orders by a tool's own verb, which no vocabulary has."""
    if not acting or clause.marks & {"state", *ASKING}:
        return False
    first = next((p for p in clause.pieces if not p.known or things(p.senses)), None)
    if first is None or first.text not in spelling_of(acting[0].profile.name).split():
        return False
    return not looking or acting[0].score > looking[0].score + MARGIN


def _switches(box: Toolbox) -> bool:
    return any(profile.acts and profile.device and profile.switch for profile in box.speakable)


def _look(looking: list[ToolReading], clause: Clause, box: Toolbox) -> _Meant | None:
    """Ask the best tool that only reads, unless the question is about something else."""
    marks = clause.marks
    if not looking or marks & _ELSEWHERE or (marks & _RELATIVE and not marks & ASKING):
        return None
    if "negate" in marks and not marks & {"state", *ASKING}:
        return _Meant(instead=SayStep("left_alone"))
    if "suppose" in marks and "read" not in clause.actions and is_switched(looking[0], box):
        return _Meant(instead=SayStep("supposed"))
    if clause.unknown and "mine" in clause.senses:
        return None
    return _unread_order(looking[0], clause, box) or _looked(looking)


def _looked(looking: list[ToolReading]) -> _Meant:
    close = [one for one in looking if one.score > looking[0].score - MARGIN][:MAX_OPTIONS]
    drafts = [draft for reading in close for draft in _drafts(reading)]
    if len(drafts) == 1:
        return _Meant((settle(drafts[0]),))
    return _Meant((_choice_of(drafts),))


def _unread_order(reading: ToolReading, clause: Clause, box: Toolbox) -> _Meant | None:
    """Return the question for an output named beside an unknown word, which may be a verb."""
    asking = {"particle", *ASKING} - ({"question"} if "request" in clause.marks else set())
    asked = clause.marks & {"state", *asking} or clause.actions & {"read", "list"}
    if not clause.unknown or asked or not is_switched(reading, box):
        return None
    return _Meant(instead=refusal(clause.unknown[0].text, box))


def _act(acting: list[ToolReading], clause: Clause, box: Toolbox) -> _Meant | None:
    named = any(reading.filled.named for reading in acting)
    if "all" in clause.marks and not named and (everything := _everything(clause, box)):
        return everything
    if not acting:
        return _without_device(clause, box)
    close = [one for one in acting if one.score > acting[0].score - MARGIN][:MAX_OPTIONS]
    drafts = [draft for reading in close for draft in _drafts(reading)]
    reason = doubt(close[0], clause)
    if len(drafts) > 1:
        return _several(drafts, reason, clause)
    draft = drafts[0]
    device = draft.profile.device
    if device is not None and device.required and device.name not in draft.arguments:
        return _without_named_device(draft, clause)
    if reason is None:
        return _Meant((settle(draft),))
    others = [] if reason else _also_named(draft, clause)
    asked = _choice_of([draft, *others]) if others else confirmation((draft,), reason)
    return _Meant((asked,))


def _also_named(draft: CallDraft, clause: Clause) -> list[CallDraft]:
    """Return the same order for the other things that a clause names: the pump or the light."""
    device = draft.profile.device
    if device is None or clause.doubted or clause.marks & (DOUBTS | {"negate", "state"}):
        return []
    chosen = [one for one in device.choices if one.value == draft.arguments.get(device.name)]
    known = frozenset().union(*(one.senses for one in chosen))
    left = clause.things - known
    others = [
        one
        for one in device.choices
        if one not in chosen and any(name.senses <= left for name in (one.name, *one.aliases))
    ]
    return [with_argument(draft, device.name, one.value) for one in others]


def _several(drafts: Sequence[CallDraft], reason: str | None, clause: Clause) -> _Meant:
    """Return all drafts if the person said so, else the question which one."""
    if not clause.marks & {"all", "both"}:
        return _Meant((_prefaced(_choice_of(drafts), clause),))
    if reason is None:
        return _Meant(tuple(settle(draft) for draft in drafts[:MAX_CALLS]))
    if clause.doubted:
        # All but one, as for everything
        return _Meant(instead=SayStep("left_alone"))
    return _Meant((confirmation(tuple(drafts[:MAX_CALLS]), reason),))


def _prefaced(need: Need, clause: Clause) -> Need:
    """Say before a question about later that the order would happen at once."""
    return replace(need, preface=(ONLY_NOW, "")) if clause.marks & CONDITIONS else need


def _drafts(reading: ToolReading) -> list[CallDraft]:
    """Return one draft, or one for each choice that fits equally well."""
    drafts = [CallDraft(reading.profile, reading.filled.arguments)]
    for name, choices in reading.filled.tied.items():
        drafts = [with_argument(draft, name, one.value) for draft in drafts for one in choices]
    return drafts


def _choice_of(drafts: Sequence[CallDraft]) -> Need:
    options = tuple(
        ReplyOption(_told_apart(draft, drafts), (draft,)) for draft in drafts[:MAX_OPTIONS]
    )
    return Need(Reason.MEAN, options)


def _told_apart(draft: CallDraft, drafts: Sequence[CallDraft]) -> Choice:
    """Return the name of a draft among others: an argument that differs, else all of its words."""
    for parameter in draft.profile.parameters:
        mine = draft.arguments.get(parameter.name)
        others = [one.arguments.get(parameter.name) for one in drafts if one is not draft]
        chosen = next((one for one in parameter.choices if one.value == mine), None)
        if chosen is not None and mine not in others:
            return chosen
    named = [
        sense
        for parameter in draft.profile.parameters
        for choice in parameter.choices
        if choice.value == draft.arguments.get(parameter.name)
        for sense in choice.senses
    ]
    return Choice(None, "", Name(draft.profile.words.union(named), ""))


def _without_device(clause: Clause, box: Toolbox) -> _Meant | None:
    """Answer an order that names no device, or one that is not here."""
    drafts = [
        CallDraft(profile, {profile.switch.name: value.value})
        for profile in box.speakable
        if profile.acts and profile.device and profile.switch
        for value in best_choices(profile.switch.choices, clause, whole=True)
    ]
    exact = [draft for draft in drafts if _says(draft, clause)]
    chosen = (exact or drafts)[:1]
    return _without_named_device(chosen[0], clause) if chosen else None


def _says(draft: CallDraft, clause: Clause) -> bool:
    """Return true if the person said the value itself, not another one that may stand for it."""
    return any(str(value) in clause.values for value in draft.arguments.values())


def _without_named_device(draft: CallDraft, clause: Clause) -> _Meant:
    item = settle(draft)
    stranger = _stranger(draft.profile, clause)
    if not isinstance(item, Need):
        return _Meant((item,))
    if stranger:
        item = replace(item, preface=("unknown_thing", stranger))
    return _Meant((_prefaced(item, clause),))


def _everything(clause: Clause, box: Toolbox) -> _Meant | None:
    """Order all devices at once: off without a question, anything else with one."""
    drafts = tuple(draft for profile in box.speakable for draft in _all_of(profile, clause))
    resting = all_at_rest(box, clause.senses) if clause.values == {"off"} else ()
    if not drafts and not resting:
        return None
    if clause.unknown:
        # Something was named that is not here: not everything is meant
        return _Meant(instead=refusal(clause.unknown[0].text, box))
    if resting:
        drafts = tuple(
            CallDraft(found, o.arguments) for o in resting if (found := box.find(o.tool))
        )
    if clause.doubted:
        # All but one: what is denied beside it would be in the question too
        return _Meant(instead=SayStep("left_alone"))
    plain = bool(resting) and not clause.marks & (CONDITIONS | DOUBTS | ASKING)
    if plain and len(drafts) <= MAX_CALLS:
        return _Meant(tuple(settle(draft) for draft in drafts))
    return _Meant((confirmation(drafts[:MAX_CALLS], ""),))


def _all_of(profile: Profile, clause: Clause) -> Iterator[CallDraft]:
    """Yield a draft for every device of a tool that takes exactly the value that was said."""
    device, switch = profile.device, profile.switch
    if not profile.acts or device is None or switch is None:
        return
    for value in switch.choices:
        if value.name.senses <= clause.values:
            for choice in device.choices:
                yield CallDraft(profile, {device.name: choice.value, switch.name: value.value})


def _stranger(profile: Profile, clause: Clause) -> str:
    """Return the word for a device that is not here."""
    strange = clause.things - profile.words
    named = [p.text for p in clause.pieces if strange.intersection(p.senses)]
    unknown = [p.text for p in clause.unknown if p.kind is UnitKind.WORD or len(p.text) > 1]
    return (named or unknown or [""])[0]
