"""Messages that point back: again, off again, the other one, that one too.

Where what they point to is not the only thing it could be, nothing is done without a question.
Every step says that earlier turns were heeded.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from agent.providers.offline.adjustments import adjustment, is_relative
from agent.providers.offline.clarity import ASKING, CONDITIONS, DOUBTS
from agent.providers.offline.clauses import Clause, clauses_of
from agent.providers.offline.conversation import ConversationTurn
from agent.providers.offline.past_calls import PastCall, done_in, done_last, only_device
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.plan import (
    MAX_CALLS,
    MAX_OPTIONS,
    AskStep,
    CallDraft,
    CallStep,
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
from agent.providers.offline.readings import orders
from agent.providers.offline.slots import best_choices
from agent.providers.offline.toolbox import Choice, Name, Toolbox

# With one of these a message says something else than what is to be done
_UNCLEAR = (ASKING - {"question"}) | CONDITIONS | DOUBTS | {"negate", "state", "mine", "but"}
_BESIDE_AGAIN = frozenset(
    {"stop", "request", "filler", "amend", "join", "again", "slightly", "switch"}
)


def followup(
    analysis: Analysis, clauses: Sequence[Clause], box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    """Return the step for a message that earlier turns complete; None for any other."""
    whole = [_whole(clause, analysis) for clause in clauses]
    step = (
        _again(analysis, box, past) or adjustment(whole, box, past) or _pointing(whole, box, past)
    )
    return replace(step, earlier=True) if isinstance(step, (CallStep, AskStep)) else step


def _again(analysis: Analysis, box: Toolbox, past: Sequence[ConversationTurn]) -> Step | None:
    if not _is_again(analysis):
        return None
    said = [analyse(turn.text, analysis.code, box.names) for turn in past]
    while said and _is_again(said[-1]):
        said.pop()
    before = [_whole(clause, said[-1]) for clause in clauses_of(said[-1])] if said else []
    if len(before) == 1 and is_relative(before[0]):
        # A bit warmer once more is warmer than now, not as warm as then
        return adjustment(before, box, past)
    repeated = tuple(one.order for one in done_last(past, box))[:MAX_CALLS]
    return CallStep(repeated) if repeated else SayStep("nothing_before")


def _is_again(analysis: Analysis) -> bool:
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    known = all(piece.known for piece in analysis.pieces if piece.text.isalnum())
    return "again" in senses and senses <= _BESIDE_AGAIN and known and not _asks(analysis)


def _pointing(
    clauses: Sequence[Clause], box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    done = done_last(past, box)
    if not done or len(clauses) != 1:
        return None
    (clause,) = clauses
    # What about the other one
    marks = clause.marks - ({"ask"} if "another" in clause.marks else set())
    if marks & _UNCLEAR or clause.doubted or clause.numbers or clause.paths:
        return None
    asked = clause.marks & ASKING and "request" not in marks
    if "another" in marks and not clause.things:
        return _another(done, clause, asked=bool(asked))
    return None if asked or "all" in marks else _ordered(done, clause, box, past)


def _ordered(
    done: Sequence[PastCall], clause: Clause, box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    if "too" in clause.marks and clause.things and not clause.actions | clause.values:
        return _that_too(done, clause)
    if not orders(clause) or clause.things or _spoke_of_another(done, box, past):
        return None
    return _same_device(done, clause, box)


def _spoke_of_another(
    done: Sequence[PastCall], box: Toolbox, past: Sequence[ConversationTurn]
) -> bool:
    """Return true if the last turn only read another thing than the one moved before it."""
    if any(one.profile.acts for one in done):
        return False
    for turn in reversed(past[:-1]):
        moved = [one for one in done_in(turn, box) if one.profile.acts]
        if moved:
            return only_device(moved) != only_device(done)
    return False


def _whole(clause: Clause, analysis: Analysis) -> Clause:
    """Return all words as one clause, for a message that names nothing."""
    if clause.pieces:
        return clause
    colours = frozenset({"question"} if _asks(analysis) else ())
    return Clause(analysis.pieces, colours, code=analysis.code)


def _asks(analysis: Analysis) -> bool:
    return "?" in analysis.text.replace("？", "?")


def _same_device(done: Sequence[PastCall], clause: Clause, box: Toolbox) -> Step | None:
    """Order the same device again with another value: off again."""
    device = only_device(done)
    if device is None or "both" in clause.marks:
        return None
    drafts = [
        CallDraft(profile, {profile.device.name: device.value, profile.switch.name: value.value})
        for profile in box.speakable
        if profile.acts and profile.device and profile.switch
        if device.value in [choice.value for choice in profile.device.choices]
        for value in best_choices(profile.switch.choices, clause, whole=True)
    ]
    exact = [one for one in drafts if set(map(str, one.arguments.values())) & clause.values]
    meant = exact or drafts
    return step_of((settle(meant[0]),)) if len(meant) == 1 else None


def _that_too(done: Sequence[PastCall], clause: Clause) -> Step | None:
    """Repeat the last order with another thing: the pump too."""
    drafts = _with_devices(done, clause)
    if len(drafts) == 1:
        return step_of((settle(drafts[0]),))
    return step_of((_which(drafts),)) if drafts else None


def _with_devices(done: Sequence[PastCall], clause: Clause) -> list[CallDraft]:
    """Return the last calls with the things that a clause names, if it says nothing else."""
    drafts: list[CallDraft] = []
    values = {repr(one.switched_to) for one in done}
    for one in done:
        device = one.profile.device
        if device is None or len(values) > 1:
            return []
        best = best_choices(device.choices, clause)
        known = {sense for choice in best for sense in choice.senses}
        if best and all(f"~{p.text}" in known for p in clause.unknown):
            made = [_draft(one, choice) for choice in best]
            drafts += [draft for draft in made if draft not in drafts]
    return drafts


def _draft(done: PastCall, choice: Choice) -> CallDraft:
    device = done.profile.device
    draft = CallDraft(done.profile, done.order.arguments)
    return draft if device is None else with_argument(draft, device.name, choice.value)


def _another(done: Sequence[PastCall], clause: Clause, *, asked: bool) -> Step | None:
    """Order the other one: the things of the last tool that were not used."""
    last, device = done[-1], done[-1].profile.device
    if device is None or len({one.profile.name for one in done}) != 1 or clause.unknown:
        return None
    used = [one.device for one in done]
    others = [choice for choice in device.choices if choice not in used]
    drafts = [_draft(last, choice) for choice in others[:MAX_OPTIONS]]
    switch = last.profile.switch if last.profile.acts else None
    if switch is not None and clause.values:
        values = best_choices(switch.choices, clause, whole=True)
        if len(values) != 1:
            return None
        drafts = [with_argument(draft, switch.name, values[0].value) for draft in drafts]
    if len(drafts) > 1:
        return step_of((_which(drafts),))
    if not drafts:
        return None
    # After an order, the other one may be asked about, or ordered too
    plain = not last.profile.acts or (clause.values and not asked)
    item = settle(drafts[0])
    return step_of((item if plain else confirmation((drafts[0],), ""),))


def _which(drafts: Sequence[CallDraft]) -> Need:
    options = tuple(ReplyOption(_named(draft), (draft,)) for draft in drafts[:MAX_OPTIONS])
    return Need(Reason.MEAN, options)


def _named(draft: CallDraft) -> Choice:
    """Return an option that is chosen by the name of its thing."""
    device = draft.profile.device
    choices = device.choices if device else ()
    value = None if device is None else draft.arguments.get(device.name)
    chosen = next((choice for choice in choices if choice.value == value), None)
    if chosen is None:
        return Choice(None, "", Name(draft.profile.words, ""))
    return Choice(None, "", chosen.name, chosen.aliases)
