"""Meaning of a message, given the tools and the question before it.

Words decide; only where they find nothing, a sentence of the vocabulary that means nearly the same
is read in its place. Only the person's own message is understood, never what tools returned.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.clauses import Clause, clauses_of
from agent.providers.offline.commands import command, tool_step
from agent.providers.offline.conversation import ConversationTurn
from agent.providers.offline.corrections import taken_back
from agent.providers.offline.delayed_orders import timed, until
from agent.providers.offline.documents import lookup
from agent.providers.offline.file_orders import writing
from agent.providers.offline.followups import followup
from agent.providers.offline.likeness import VERY_ALIKE, Likenesses, SimilarSentence
from agent.providers.offline.measures import amounts_of, converted
from agent.providers.offline.memory_orders import about_memory, asks_memory
from agent.providers.offline.origins import about_origin
from agent.providers.offline.past_readings import about_past_readings
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
    step_of,
)
from agent.providers.offline.reflex_orders import about_reflexes
from agent.providers.offline.refusals import refusal
from agent.providers.offline.replies import overrides, replied
from agent.providers.offline.scheduled_orders import about_scheduled
from agent.providers.offline.senses import hardware
from agent.providers.offline.timers import about_timers
from agent.providers.offline.toolbox import ORDERS, Parameter, Toolbox
from agent.providers.offline.units import UnitKind
from agent.providers.offline.verifier import OrderScope, fault_in
from agent.providers.offline.watch_orders import watching

_CLOSE = 1e-6


def misquoted(ask: AskStep, analysis: Analysis) -> str | None:
    """Return the first word of a number that a question would offer otherwise; None for none."""
    drafts = [draft for option in ask.need.options for draft in option.drafts]
    numbers = [piece for piece in analysis.pieces if piece.kind is UnitKind.NUMBER]
    if ask.need.reason is not Reason.CONFIRM or not numbers:
        return None
    given = [one for draft in drafts for one in _numbers(draft)]
    if not given or (len(numbers) == 1 and all(_is_said(*one, analysis) for one in given)):
        return None
    return numbers[0].text


def _numbers(draft: CallDraft) -> list[tuple[Parameter, float]]:
    return [
        (one, float(draft.arguments[one.name]))
        for one in draft.profile.parameters
        if one.kind in {"number", "integer"} and one.name in draft.arguments
        if draft.arguments[one.name] != one.kept_by
    ]


def _is_said(parameter: Parameter, value: float, analysis: Analysis) -> bool:
    """Return true if the message has the number, with no unknown word (a minus) before it."""
    for amount in amounts_of(analysis.pieces, analysis.code):
        number = converted(amount, parameter.unit)
        place = analysis.pieces.index(amount.pieces[0])
        before = analysis.pieces[place - 1] if place else None
        unclear = before is not None and before.kind is UnitKind.WORD and not before.known
        if number is not None and abs(number - value) < _CLOSE and not unclear:
            return True
    return False


_ASKING = frozenset({"question", "ask", "fact"})
# What a message keeps when another sentence is read in its place
_MOOD = frozenset({"question", "ask", "fact", "request", "suppose", "past", "later"})
# A message with one of these is no order to a tool that only its description speaks for
_TELLING = frozenset({"negate", "suppose", "past", "fact", "report"})
_SMALL_TALK = ("help", "thanks", "bye", "greet")


class Interpretation(Struct, frozen=True):
    """Message, its pieces, and the step that follows from it."""

    analysis: Analysis
    clauses: tuple[Clause, ...]
    step: Step
    # It answers a question that was asked before
    replied: bool = False
    # A sentence of the vocabulary that was read in its place, word for word the same
    instead: Analysis | None = None

    @property
    def asked(self) -> frozenset[str]:
        """Return the senses that were said."""
        return frozenset().union(*(clause.senses for clause in self.clauses))


async def understand(
    analysis: Analysis,
    box: Toolbox,
    past: Sequence[ConversationTurn],
    pending: AskStep | None,
    likenesses: Likenesses,
) -> Interpretation:
    """Return the step for a message after the turns of the past; there is always one."""
    reads = partial(_of_text, analysis.code, box, past, likenesses)
    reads_now = partial(_step_now, analysis, box, likenesses)
    step = about_scheduled(analysis, box) or await timed(analysis, box, reads, reads_now)
    if step is not None:
        return Interpretation(analysis, clauses_of(analysis), step)
    understood = await _read(analysis, box, past, pending, likenesses)
    return replace(understood, step=_verified(understood, box))


async def _step_now(analysis: Analysis, box: Toolbox, likenesses: Likenesses) -> Step:
    """Return the step for a message as if no time were in it."""
    return _verified(await _read(analysis, box, [], None, likenesses), box)


async def understand_until(
    analysis: Analysis,
    box: Toolbox,
    past: Sequence[ConversationTurn],
    likenesses: Likenesses,
    now: str,
) -> Step:
    """Return the step for an order until a time, once the present time is known."""
    return await until(analysis, now, box, partial(_of_text, analysis.code, box, past, likenesses))


async def _of_text(
    code: str, box: Toolbox, past: Sequence[ConversationTurn], likenesses: Likenesses, text: str
) -> Step:
    """Return the step for a part of a message, as if it had been said alone."""
    said = analyse(text, code, box.names)
    return (await understand(said, box, past, None, likenesses)).step


def _verified(understood: Interpretation, box: Toolbox) -> Step:
    """Return the step, or a refusal if the message does not say all of it."""
    step = understood.step
    if isinstance(step, AskStep) and not (step.earlier or understood.replied):
        word = misquoted(step, understood.analysis)
        return step if word is None else refusal(word, box)
    if not isinstance(step, CallStep):
        return step
    said = understood.instead or understood.analysis
    scope = (
        OrderScope.REPLY
        if understood.replied
        else OrderScope.EARLIER
        if step.earlier
        else OrderScope.MESSAGE
    )
    fault = fault_in(step.orders, said, box, scope)
    if fault is None:
        return step
    drafts = [
        CallDraft(profile, one.arguments) for one in step.orders if (profile := box.find(one.tool))
    ]
    if fault.is_half_named and not fault.word and len(drafts) == 1:
        return step_of((confirmation(tuple(drafts), ""),))
    return refusal(fault.word, box)


async def _read(
    analysis: Analysis,
    box: Toolbox,
    past: Sequence[ConversationTurn],
    pending: AskStep | None,
    likenesses: Likenesses,
) -> Interpretation:
    clauses = clauses_of(analysis)
    step = _by_words(analysis, clauses, box, past)
    if pending is not None and not overrides(step, clauses, pending):
        reply = replied(pending, analysis.text, _said(analysis, clauses))
        if reply is not None:
            return Interpretation(analysis, clauses, _heeding(reply, pending), replied=True)
    if not isinstance(step, CallStep) or not _acts(step, box):
        step = followup(analysis, clauses, box, past) or step
    if not isinstance(step, CallStep) or not _acts(step, box):
        said = _said(analysis, clauses)
        step = taken_back(analysis, said, step, box, past) or step
    instead: Analysis | None = None
    if step is None or _leaves_words(step, clauses, box):
        alike = await _by_likeness(analysis, clauses, box, likenesses, step)
        step, instead = alike or (step, None)
    if step is None:
        step = (
            _without_board(clauses, box)
            or asks_memory(analysis, clauses, box)
            or _otherwise(analysis, box)
        )
    return Interpretation(analysis, clauses, step, instead=instead)


def _heeding(reply: Step, asked: AskStep) -> Step:
    """Mark the step after a question as the question was marked."""
    if isinstance(reply, (CallStep, AskStep)) and asked.earlier:
        return replace(reply, earlier=True)
    return reply


def _by_words(
    analysis: Analysis, clauses: Sequence[Clause], box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    return (
        about_reflexes(analysis, box)
        or about_origin(analysis, box, past)
        or about_past_readings(analysis, clauses, box)
        or about_timers(analysis, box)
        or about_memory(analysis, box)
        or lookup(analysis, clauses, box)
        or watching(analysis, clauses, box)
        or _overall(analysis, box)
        or writing(analysis, box)
        or _small_talk(analysis, clauses)
        or command(clauses, box)
    )


def _said(analysis: Analysis, clauses: Sequence[Clause]) -> Sequence[Clause]:
    """Return the clauses, or all pieces as one if there are none, such as for a yes."""
    if any(clause.pieces for clause in clauses):
        return clauses
    asked = analysis.text.rstrip().endswith(("?", "？"))
    return (Clause(analysis.pieces, frozenset({"question"} if asked else ())),)


def _overall(analysis: Analysis, box: Toolbox) -> Step | None:
    """Ask every tool that reports a state, for a question about everything."""
    if not any("overall" in piece.senses for piece in analysis.pieces):
        return None
    telling = [one.name for one in box.speakable if one.name.endswith("_info") and not one.acts]
    return CallStep(tuple(Order(name, {}) for name in telling[:MAX_CALLS])) if telling else None


def _small_talk(analysis: Analysis, clauses: Sequence[Clause]) -> Step | None:
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    weighs = any(clause.weighs for clause in clauses)
    for key in _SMALL_TALK:
        if key in senses and not weighs:
            return SayStep(key)
    return None


def _leaves_words(step: Step, clauses: Sequence[Clause], box: Toolbox) -> bool:
    """Return true if only something to read was found, and words were left over."""
    looks = isinstance(step, CallStep) and not step.purpose and not _acts(step, box)
    return looks and any(clause.unknown for clause in clauses)


async def _by_likeness(
    analysis: Analysis,
    clauses: Sequence[Clause],
    box: Toolbox,
    likenesses: Likenesses,
    weak: Step | None,
) -> tuple[Step, Analysis | None] | None:
    """Return the step of the sentence most like the message, if it is like enough."""
    marks = frozenset().union(*(clause.marks for clause in clauses))
    for found in await likenesses.sentences(analysis):
        if weak is not None and found.likeness < VERY_ALIKE:
            break
        said = analyse(found.means, found.code, box.names)
        step = _read_instead(found, said, marks, box)
        if step is not None:
            return step, said if found.sure else None
    if weak is not None or marks & _TELLING:
        return None
    profile = await likenesses.tool(analysis, box.speakable)
    step = None if profile is None else tool_step(profile, clauses, asked=bool(marks & _ASKING))
    return None if step is None else (step, None)


def _read_instead(
    found: SimilarSentence, said: Analysis, marks: frozenset[str], box: Toolbox
) -> Step | None:
    """Return the step of another sentence, in the mood of the message."""
    read = [
        replace(clause, colours=clause.colours | (marks & _MOOD), doubted=not found.sure)
        for clause in clauses_of(said)
    ]
    if not found.sure and "negate" in marks:
        return None
    step = command(read, box)
    if isinstance(step, SayStep) or (
        isinstance(step, CallStep) and marks & _ASKING and _acts(step, box)
    ):
        return None
    return step


def _acts(step: CallStep, box: Toolbox) -> bool:
    profiles = [box.find(order.tool) for order in step.orders]
    return any(profile is None or profile.acts for profile in profiles)


def _without_board(clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Tell that no tool has hardware, if the message wants any."""
    if not box.profiles or any(profile.device for profile in box.speakable):
        return None
    about_hardware = any(
        clause.things & hardware() and not clause.marks & {"mine", "fact"} for clause in clauses
    )
    return SayStep("no_board") if about_hardware else None


def _otherwise(analysis: Analysis, box: Toolbox) -> Step:
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    if senses & {"no", "cancel"} or ("negate" in senses and senses & ORDERS):
        return SayStep("left_alone")
    said = next((key for key in _SMALL_TALK if key in senses), None)
    return SayStep(said or ("not_understood" if box.profiles else "no_tools"))
