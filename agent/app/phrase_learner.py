"""Learning from the turns of a language model: a person's sentence, and the calls it stood for.

Learnt is only the person's own word, from a turn in which every call succeeded and which rests on
nothing below that word. What is said next takes it back where it corrects it.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import StorageFull
from agent.messages import Effect, Inbound, Provenance, Role, ToolCall, ToolSpec
from agent.security.redact import MASK, Redactor
from agent.storage.phrases import (
    MAX_PHRASE_CALLS,
    MAX_PHRASE_CHARS,
    Phrase,
    PhraseCall,
    Phrases,
    PhraseState,
    phrase_key,
)
from agent.system.clock import Clock
from agent.tools.registry import Registry
from agent.turn.outcome import TurnOutcome

if TYPE_CHECKING:
    from agent.providers.offline.toolbox import Toolbox

# ruff: noqa: PLC0415  # the vocabularies are read when a turn has taught something, at no start.
# A Pi Zero needs seconds for that: always in a thread, or a board would let its outputs go

_log = logging.getLogger(__name__)

# Shows a model its tools; without a model all of them are at hand
_SEARCH = "tool_search"
# What carries words of that day, sends them somewhere or costs something is not done again from
# a sentence. What can hurt is: the gate asks about it each time
_LEARNABLE = frozenset({Effect.READ, Effect.ACTUATE, Effect.HAZARD})
# Arguments of a board are short
_MAX_ARGUMENTS_CHARS = 500


class PhraseLearner:
    """Keeps phrases of people, and takes back those that are corrected."""

    def __init__(self, phrases: Phrases, registry: Registry, redactor: Redactor) -> None:
        self._phrases = phrases
        self._registry = registry
        self._redactor = redactor
        self._lessons: set[asyncio.Future[None]] = set()

    async def heard(self, message: Inbound) -> None:
        """Take back what this message corrects."""
        await self.settle()
        recent = self._phrases.recent(message.who, message.conversation)
        if recent and not message.strand:
            await asyncio.to_thread(self._correct, message, recent)

    async def turn_ended(self, message: Inbound, outcome: TurnOutcome) -> None:
        """Learn from the turn, where there is something to learn; the answer does not wait.

        What the message left behind is written now as well: no turn waits for the card for that.
        """
        calls = [
            call for message in outcome.added for call in message.tool_calls if call.name != _SEARCH
        ]
        if calls or self._phrases.has_left:
            loop = asyncio.get_running_loop()
            lesson = loop.run_in_executor(None, self._learn, message, outcome, calls)
            self._lessons.add(lesson)
            lesson.add_done_callback(self._lessons.discard)

    async def settle(self) -> None:
        """Wait for what is being learnt."""
        if self._lessons:
            await asyncio.wait(self._lessons)

    def _correct(self, message: Inbound, recent: Sequence[Phrase]) -> None:
        from agent.providers.offline.learned_phrases import corrects

        try:
            if corrects(message.text):
                for phrase in recent:
                    self._phrases.forget(phrase)
                _log.info("phrases: corrected (count=%d)", len(recent))
            else:
                self._phrases.leave(message.who, message.conversation)
        except StorageFull as err:
            _log.warning("phrases: not changed (reason=%s)", err)

    def _learn(self, message: Inbound, outcome: TurnOutcome, calls: Sequence[ToolCall]) -> None:
        try:
            self._take_back(message, calls)
            if self._teaches(message, outcome) and self._is_learnable(message.text, calls):
                self._phrases.learn(_phrase(message, calls))
                _log.info("phrases: heard one (calls=%d)", len(calls))
            self._phrases.keep_left()
        except StorageFull as err:
            _log.warning("phrases: not learnt (reason=%s)", err)

    def _take_back(self, message: Inbound, calls: Sequence[ToolCall]) -> None:
        """Forget what nobody has said yes to, where the same thing is soon set otherwise."""
        if message.strand:
            return
        done = {(call.name, call.arguments_json) for call in calls}
        moved = {one for call in calls for one in self._moved(call.name, call.arguments_json)}
        key = phrase_key(message.text)
        for phrase in self._phrases.recent(message.who, message.conversation):
            others = [one for one in phrase.calls if (one.tool, one.arguments_json) not in done]
            again = {pin for one in others for pin in self._moved(one.tool, one.arguments_json)}
            if phrase.state is PhraseState.HEARD and phrase.key != key and again & moved:
                self._phrases.forget(phrase)

    def _moved(self, tool: str, arguments_json: str) -> set[str]:
        """Return what a call moves: the texts among its arguments that name something."""
        found = self._registry.find(tool)
        if found is None or found.effect is Effect.READ:
            return set()
        values = _table(arguments_json)
        return {str(values[name]) for name in ("pin", "name") if name in values}

    def _teaches(self, message: Inbound, outcome: TurnOutcome) -> bool:
        """The turn is a model's answer to the person's own plain message."""
        beside = (message.quoted, message.subject, message.beside, message.attachments)
        is_plain = not (message.strand or message.is_forwarded or any(beside))
        trust = min(message.provenance, outcome.provenance)
        results = [message for message in outcome.added if message.role is Role.TOOL]
        return (
            is_plain
            and trust >= Provenance.USER
            and outcome.is_answer
            and outcome.is_by_model
            and not outcome.is_reply
            and not any(message.is_error for message in results)
        )

    def _is_learnable(self, text: str, calls: Sequence[ToolCall]) -> bool:
        if not 1 <= len(calls) <= MAX_PHRASE_CALLS or not 1 < len(text) <= MAX_PHRASE_CHARS:
            return False
        written = [text, *(call.arguments_json for call in calls)]
        if any(MASK in one or self._redactor.redact(one) != one for one in written):
            return False
        if any(len(call.arguments_json) > _MAX_ARGUMENTS_CHARS for call in calls):
            return False
        specs = {spec.name: spec for spec in self._registry.specs()}
        if not all(call.name in specs for call in calls) or _looks_first(calls, specs):
            return False
        from agent.providers.offline.learned_phrases import stands_alone
        from agent.providers.offline.toolbox import toolbox

        box = toolbox(list(specs.values()))
        return all(_is_repeatable(call, specs, box) for call in calls) and stands_alone(text)


def _phrase(message: Inbound, calls: Sequence[ToolCall]) -> Phrase:
    return Phrase(
        person=message.who,
        text=message.text.strip(),
        calls=tuple(PhraseCall(call.name, call.arguments_json) for call in calls),
        conversation=message.conversation,
    )


def _is_repeatable(call: ToolCall, specs: dict[str, ToolSpec], box: "Toolbox") -> bool:
    """It asks or moves something of the device, and needs no model to be filled."""
    speakable = any(profile.name == call.name for profile in box.speakable)
    return speakable and specs[call.name].effect in _LEARNABLE


def _looks_first(calls: Sequence[ToolCall], specs: dict[str, ToolSpec]) -> bool:
    """Return true if a read comes before a change: another time it might decide otherwise."""
    reads = [specs[call.name].effect is Effect.READ for call in calls]
    first_read = reads.index(True) if True in reads else len(reads)
    return not all(reads[first_read:])


def _table(arguments_json: str) -> dict[str, object]:
    try:
        values = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def open_learner(path: Path, clock: Clock, registry: Registry, redactor: Redactor) -> PhraseLearner:
    """Return a learner that keeps its phrases in this file."""
    return PhraseLearner(Phrases(path, clock), registry, redactor)
