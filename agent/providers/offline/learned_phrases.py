"""Phrases of one person that a model did before: asked about once, then done like any order.

A sentence can become one if it means the same at any time.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from agent.errors import StorageFull
from agent.providers.offline.clauses import clauses_of
from agent.providers.offline.conversation import ConversationTurn, table_of
from agent.providers.offline.language import detect
from agent.providers.offline.lexicon import LANGUAGES, tables, variants
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.plan import (
    AskStep,
    CallDraft,
    CallStep,
    Need,
    Order,
    Reason,
    ReplyOption,
    SayStep,
    Step,
)
from agent.providers.offline.toolbox import Choice, Name, Parameter, Profile, Toolbox
from agent.providers.offline.units import split, tidy
from agent.storage.phrases import Phrase, Phrases, PhraseState

_log = logging.getLogger(__name__)
# With one of these a sentence means something only after another one, or only sometimes
_LEANING = frozenset(
    {
        *("yes", "no", "cancel", "again", "too", "another", "there", "more", "less"),
        *("first", "second", "third", "both", "suppose", "negate", "past", "report", "watch"),
    }
)
_CORRECTING = frozenset({"no", "cancel", "negate"})
# Shorter words mean different things in different languages
_PLAIN_CHARS = 4


class LearnedPhrases:
    """Phrases of the person who wrote the last message of a request."""

    def __init__(self, phrases: Phrases | None, person: str, conversation: str) -> None:
        self._phrases = phrases
        self._person = person
        self._conversation = conversation

    def instead(self, step: Step, text: str, box: Toolbox, *, is_past: bool = False) -> Step:
        """Return the step of a phrase, if words alone do not make an act of the message.

        A past message was asked about when its phrase was not known yet.
        """
        phrase = self._find(text)
        if phrase is None or (isinstance(step, CallStep) and _acts(step, box)):
            return step
        drafts = [_draft(one.tool, one.arguments_json, box) for one in phrase.calls]
        sound = tuple(draft for draft in drafts if draft is not None)
        if len(sound) < len(drafts):
            missing = next(
                one for one, draft in zip(phrase.calls, drafts, strict=True) if not draft
            )
            return _gone(table_of(missing.arguments_json))
        if phrase.state is PhraseState.KNOWN and not is_past:
            return CallStep(tuple(Order(draft.profile.name, draft.arguments) for draft in sound))
        named = Choice(None, phrase.text, Name(frozenset(), ""))
        return AskStep((Need(Reason.PHRASE, (ReplyOption(named, sound),)),))

    async def note(self, step: Step, turn: ConversationTurn, pending: AskStep | None) -> None:
        """Keep the answer about a phrase: a yes makes it known, a no forgets it."""
        if self._phrases is None or turn.exchanges:
            return
        try:
            if pending is not None and pending.need.reason is Reason.PHRASE:
                await self._answered(self._phrases, pending.need.options[0], step)
            elif isinstance(step, CallStep) and (phrase := self._known(turn.text)):
                await asyncio.to_thread(self._phrases.use, phrase, self._conversation)
        except StorageFull as err:
            _log.warning("phrases: not changed (reason=%s)", err)

    async def _answered(self, phrases: Phrases, asked: ReplyOption, step: Step) -> None:
        phrase = self._find(asked.choice.text)
        if phrase is None:
            return
        orders = tuple(Order(draft.profile.name, draft.arguments) for draft in asked.drafts)
        if isinstance(step, CallStep) and step.orders == orders:
            await asyncio.to_thread(phrases.confirm, phrase, self._conversation)
        elif step == SayStep("cancelled"):
            await asyncio.to_thread(phrases.forget, phrase)

    def _known(self, text: str) -> Phrase | None:
        phrase = self._find(text)
        return phrase if phrase is not None and phrase.state is PhraseState.KNOWN else None

    def _find(self, text: str) -> Phrase | None:
        if self._phrases is None or not self._person:
            return None
        return self._phrases.find(self._person, text)


def _acts(step: CallStep, box: Toolbox) -> bool:
    profiles = [box.find(order.tool) for order in step.orders]
    return any(profile is None or profile.acts for profile in profiles)


def _draft(tool: str, arguments_json: str, box: Toolbox) -> CallDraft | None:
    """Return the call as it can still be made; None if its tool or its pin is gone."""
    profile, arguments = box.find(tool), table_of(arguments_json)
    if profile is None or not _fits(profile, arguments):
        return None
    return CallDraft(profile, arguments)


def _fits(profile: Profile, arguments: Mapping[str, Any]) -> bool:
    known = {parameter.name: parameter for parameter in profile.parameters}
    needed = {one.name for one in profile.parameters if one.required}
    return (
        arguments.keys() <= known.keys()
        and needed <= arguments.keys()
        and all(_takes(known[name], value) for name, value in arguments.items())
    )


def _takes(parameter: Parameter, value: object) -> bool:
    if parameter.choices:
        return any(choice.value == value for choice in parameter.choices)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        lowest = parameter.minimum if parameter.minimum is not None else value
        highest = parameter.maximum if parameter.maximum is not None else value
        return lowest <= value <= highest
    return not isinstance(value, str) or parameter.takes(value)


def _gone(arguments: Mapping[str, Any]) -> SayStep:
    names = [arguments[key] for key in ("pin", "name") if isinstance(arguments.get(key), str)]
    return SayStep("phrase_gone", {"thing": names[0]}) if names else SayStep("phrase_gone_tool")


def stands_alone(text: str) -> bool:
    """Return true if a sentence points at no other one, and at no time of day."""
    analysis = analyse(text, detect(text))
    if not _senses(analysis).isdisjoint(_LEANING) or _has_one_of("pointing", analysis):
        return False
    # For five seconds is a part of the order; at five is a time of day
    measured = {piece for clause in clauses_of(analysis) for piece in clause.measures}
    return measured.issuperset(piece for piece in analysis.pieces if "later" in piece.senses)


def corrects(text: str) -> bool:
    """Return true if the message says that something else was meant."""
    analysis = analyse(text, detect(text))
    senses = _senses(analysis)
    return not senses.isdisjoint(_CORRECTING) or _has_one_of("correcting", analysis)


def _senses(analysis: Analysis) -> frozenset[str]:
    return frozenset(sense for piece in analysis.pieces for sense in piece.senses)


def _has_one_of(table: str, analysis: Analysis) -> bool:
    """Test in the text's language, or plainly in another: short texts may be taken for English."""
    said = _texts(analysis.text)
    own, plain = _forms(analysis.code, table), _plain_forms(table)
    widths = {len(form) for form in own | plain}
    return any(part in own or part in plain for width in widths for part in _parts(said, width))


@cache
def _forms(code: str, table: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_texts(form) for form in tables(code)["sayings"][table])


@cache
def _plain_forms(table: str) -> frozenset[tuple[str, ...]]:
    """Return the forms of every language that no other language has by chance."""
    forms = (form for code in LANGUAGES for form in _forms(code, table))
    return frozenset(
        form for form in forms if len("".join(form)) >= _PLAIN_CHARS or not form[0].isascii()
    )


def _texts(text: str) -> tuple[str, ...]:
    return tuple(unit.text for unit in split(tidy(text), variants()))


def _parts(said: tuple[str, ...], width: int) -> Iterator[tuple[str, ...]]:
    return (said[place : place + width] for place in range(len(said) - width + 1))
