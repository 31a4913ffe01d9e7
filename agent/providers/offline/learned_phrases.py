"""Phrases of one person that a model did before: asked about once, then done like any order."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from agent.errors import StorageFull
from agent.providers.offline.conversation import ConversationTurn, table_of
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
from agent.storage.phrases import Phrase, Phrases, PhraseState

_log = logging.getLogger(__name__)


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
