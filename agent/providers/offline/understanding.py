"""What a message means, given the tools and what was asked before it.

Words decide; only where they find nothing, a sentence of the vocabulary that means nearly the same
is read in its place. Only the person's own message is understood, never what tools returned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.providers.offline.clauses import Clause, clauses_of
from agent.providers.offline.commands import command
from agent.providers.offline.files import writing
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.plan import Ask, Do, Say, Step
from agent.providers.offline.remembering import about_memory, asks_memory
from agent.providers.offline.replies import overrides, replied
from agent.providers.offline.toolbox import Toolbox

_SMALL_TALK = ("help", "thanks", "bye", "greet")


@dataclass(frozen=True, slots=True)
class Understanding:
    """A message, how it was cut up, and the step that follows from it."""

    analysis: Analysis
    clauses: tuple[Clause, ...]
    step: Step

    @property
    def asked(self) -> frozenset[str]:
        """The senses that were said."""
        return frozenset().union(*(clause.senses for clause in self.clauses))


async def understand(
    text: str, code: str, box: Toolbox, pending: Ask | None, likenesses: Likenesses
) -> Understanding:
    """The step for a message; there is always one."""
    analysis = analyse(text, code)
    clauses = clauses_of(analysis)
    step = _by_words(analysis, clauses, box)
    if pending is not None and not overrides(step, clauses, pending):
        step = replied(pending, analysis.text, _said(analysis, clauses)) or step
    if step is None:
        step = await _by_likeness(analysis, clauses, box, likenesses)
    if step is None:
        step = asks_memory(analysis, clauses, box) or _otherwise(analysis, box)
    return Understanding(analysis, clauses, step)


def _by_words(analysis: Analysis, clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    return (
        about_memory(analysis, clauses, box)
        or writing(analysis, box)
        or _small_talk(analysis, clauses)
        or command(clauses, box)
    )


def _said(analysis: Analysis, clauses: Sequence[Clause]) -> Sequence[Clause]:
    """The clauses, or what little was said when it makes none, such as a yes."""
    if any(clause.pieces for clause in clauses):
        return clauses
    return (Clause(analysis.pieces, frozenset()),)


def _small_talk(analysis: Analysis, clauses: Sequence[Clause]) -> Step | None:
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    weighs = any(clause.weighs for clause in clauses)
    for key in _SMALL_TALK:
        if key in senses and not weighs:
            return Say(key)
    return None


async def _by_likeness(
    analysis: Analysis, clauses: Sequence[Clause], box: Toolbox, likenesses: Likenesses
) -> Step | None:
    """The step of the nearest sentence of the vocabulary that this message may stand for."""
    for found in await likenesses.nearest(analysis):
        marks = frozenset().union(*(clause.marks for clause in clauses))
        read = [
            replace(clause, colours=clause.colours | marks)
            for clause in clauses_of(analyse(found.means, found.code))
        ]
        step = command(read, box)
        if isinstance(step, Say) or step is None:
            continue
        if isinstance(step, Do) and not found.sure and _acts(step, box):
            return _doubted(read, box)
        return step
    return None


def _acts(step: Do, box: Toolbox) -> bool:
    profiles = [box.find(order.tool) for order in step.orders]
    return any(profile is None or profile.acts for profile in profiles)


def _doubted(read: Sequence[Clause], box: Toolbox) -> Step | None:
    return command([replace(clause, doubted=True) for clause in read], box)


def _otherwise(analysis: Analysis, box: Toolbox) -> Step:
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    if "negate" in senses or senses & {"no", "cancel"}:
        return Say("left_alone")
    said = next((key for key in _SMALL_TALK if key in senses), None)
    return Say(said or ("not_understood" if box.profiles else "no_tools"))
