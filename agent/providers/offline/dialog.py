"""Answers of the offline provider, from words, a little grammar and the tools there are.

Everything it knows of a conversation is in the request: the same messages and tools give the same
answer. It never raises on any text, and never acts on what it only half understood.
"""

import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.embeddings.base import Embedder
from agent.messages import ToolCall, ToolSpec
from agent.providers.base import ChatRequest, ChatResponse, StopReason
from agent.providers.offline.abilities import Read, examples
from agent.providers.offline.all_off import all_at_rest, told_at_rest
from agent.providers.offline.answer_language import voices_of
from agent.providers.offline.answers import answer
from agent.providers.offline.conversation import ConversationTurn, Exchange, turns_of
from agent.providers.offline.delayed_orders import UNTIL
from agent.providers.offline.learned_phrases import LearnedPhrases
from agent.providers.offline.lexicon import variants
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.memory_answers import contents_by_key, forgotten, source_asked, told
from agent.providers.offline.memory_orders import FORGET, LIST, RECALL, SOURCE, UNWATCH
from agent.providers.offline.past_calls import FAILURE
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import (
    AskStep,
    CallStep,
    Order,
    Reason,
    ReplyOption,
    SayStep,
    Step,
    TellStep,
    lookups,
)
from agent.providers.offline.received_files import about_file
from agent.providers.offline.small_talk import small_talk
from agent.providers.offline.toolbox import (
    MEMORY_FORGET,
    MEMORY_RECALL,
    MEMORY_SOURCE,
    Toolbox,
    toolbox,
)
from agent.providers.offline.units import UnitKind, split, tidy
from agent.providers.offline.voice import Voice
from agent.storage.phrases import Phrases

# So many sentences are compared; a board with more outputs has others as near
_COMPARED = 80
# Of so many the first that works is named
_TRIED = 2
# A sentence further from the message than this has nothing to do with it
_NEAR_ENOUGH = 0.45
# Of a name with a letter too many, too few or in the wrong place
_SAME_WORD = 0.7
# Long text is no order that was nearly understood
_MAX_CHARS = 120


async def nearest(text: str, box: Toolbox, voice: Voice, read: Read) -> str | None:
    """Return the sentence most like the message, by its words and their letters; often none."""
    if len(text) > _MAX_CHARS:
        return None
    said = _words(text)
    ranked = sorted(
        ((_likeness(said, _words(one)), one) for one in islice(examples(box, voice), _COMPARED)),
        reverse=True,
    )
    for likeness, sentence in ranked[:_TRIED]:
        if likeness < _NEAR_ENOUGH:
            break
        if isinstance(await read(sentence), CallStep):
            return sentence
    return None


def narrowed(step: Step, voice: Voice) -> Step:
    """Ask if an unknown word means the one thing most like it."""
    if not isinstance(step, AskStep) or (need := step.need).preface is None:
        return step
    key, word = need.preface
    if key != "unknown_thing" or not word:
        return step
    likeness = [_name_likeness(word, option, voice) for option in need.options]
    best = max(likeness)
    if best < _SAME_WORD or likeness.count(best) > 1:
        return step
    option = need.options[likeness.index(best)]
    asked = replace(need, reason=Reason.MEAN, options=(option,))
    return replace(step, plan=tuple(asked if item is need else item for item in step.plan))


def _name_likeness(word: str, option: ReplyOption, voice: Voice) -> float:
    choice = option.choice
    names = (choice.text, voice.label(choice.text), *choice.facts.aliases)
    words = [one for name in names for one in tidy(name).casefold().replace("_", " ").split()]
    return max((SequenceMatcher(None, word, one).ratio() for one in words), default=0.0)


def _words(text: str) -> list[frozenset[str]]:
    """Return the pairs of letters of each word; without spaces, those of the whole text."""
    units = split(tidy(text), variants())
    words = [one.text for one in units if one.kind is UnitKind.WORD]
    rest = "".join(one.text for one in units if one.kind not in {UnitKind.WORD, UnitKind.MARK})
    return [_pairs(word) for word in (*words, *([rest] if rest else []))]


def _pairs(word: str) -> frozenset[str]:
    edged = f" {word} "
    return frozenset(edged[place : place + 2] for place in range(len(edged) - 1))


def _likeness(said: Sequence[frozenset[str]], wanted: Sequence[frozenset[str]]) -> float:
    """Return the share of the wanted words that was said, each by the word most like it."""
    if not said or not wanted:
        return 0.0
    weights = [len(word) for word in wanted]
    found = [max(_dice(word, one) for one in said) for word in wanted]
    covered = sum(weight * share for weight, share in zip(weights, found, strict=True))
    # What was said beside it counts against it, but less: orders are wordy
    spare = sum(1 - max(_dice(one, word) for word in wanted) for one in said) / len(said)
    return covered / sum(weights) - spare / 4


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))


# What shows the other tools to models that are not shown all of them
_SEARCH = "tool_search"

if TYPE_CHECKING:
    from agent.providers.offline.interpreter import Interpretation

# What is answered where a message was not understood, or not all of it
_NOT_UNDERSTOOD = frozenset({"not_understood", "unaccounted", "not_plain"})
# What was only looked up to find out what is meant, and is not told beside what was done then
_LOOKED_UP = {
    MEMORY_FORGET: MEMORY_RECALL,
    MEMORY_SOURCE: MEMORY_RECALL,
    "watch_remove": "watch_list",
    "_write": "time_now",
}


class OfflineDialog:
    """Makes the answers of the offline provider."""

    def __init__(
        self,
        embedder: Embedder | None = None,
        phrases: Phrases | None = None,
        called: str = "Barnacle",
    ) -> None:
        self._likenesses = Likenesses(embedder)
        self._phrases = phrases
        self._called = called
        # Languages whose tables are loaded
        self._prepared: set[str] = set()

    def prepare(self, request: ChatRequest) -> None:
        """Load what the answer is made with: grammar, names of tools, the person's language."""
        from agent.providers.offline.addressee import addressed  # noqa: F401, PLC0415 - as below
        from agent.providers.offline.interpreter import understand  # noqa: F401, PLC0415 - as below

        box, turns = toolbox(_every_tool(request)), turns_of(request.messages)
        code = voices_of(turns)[-1].code if turns else "en"
        if code not in self._prepared:
            analyse(turns[-1].text if turns else "", code, box.names)
            self._prepared.add(code)

    async def to(self, request: ChatRequest) -> ChatResponse:
        box = toolbox(_every_tool(request))
        turns = turns_of(request.messages)
        if not turns:
            return ChatResponse(await self._help(Voice("en"), box))
        voices = voices_of(turns)
        learnt = LearnedPhrases(self._phrases, request.person, request.conversation)
        pending = None
        for place in range(_asked_since(turns), len(turns) - 1):
            turn, voice = turns[place], voices[place]
            _, step = await self._step(turns[: place + 1], voice, box, pending)
            if pending is None:
                step = learnt.instead(step, turn.text, box, is_past=True)
            pending = step if isinstance(step, AskStep) and _was_asked(step, turn, voice) else None
        is_free = pending is None or not turns[-1].text
        if is_free and (read := about_file(turns, box)) is not None:
            return self._about_file(read, turns[-1], box, voices[-1])
        understood, step = await self._step(turns, voices[-1], box, pending)
        if not turns[-1].exchanges:
            if pending is None or step == SayStep("not_understood"):
                step = learnt.instead(step, turns[-1].text, box)
            await learnt.note(step, turns[-1], pending)
            key = small_talk(turns[-1].text, voices[-1].code, self._called)
            if key is not None and pending is None and isinstance(step, (SayStep, CallStep)):
                return _spoken(voices[-1].manners(key, self._called))
            if step == SayStep("help"):
                return _spoken(await self._help(voices[-1], box))
            if isinstance(step, SayStep) and step.key in _NOT_UNDERSTOOD:
                return _spoken(await self._refusal(step, turns[-1].text, voices[-1], box))
        return _response(step, turns[-1], understood, box, voices[-1])

    @staticmethod
    def _about_file(step: Step, turn: ConversationTurn, box: Toolbox, voice: Voice) -> ChatResponse:
        """Read a file that was sent, or tell what came of that."""
        from agent.providers.offline.interpreter import Interpretation  # noqa: PLC0415 - as below

        understood = Interpretation(analyse("", voice.code, box.names), (), step)
        return _response(_after_calls(step, turn, box, voice), turn, understood, box, voice)

    async def _help(self, voice: Voice, box: Toolbox) -> str:
        """List the abilities, each with a sentence that works."""
        from agent.providers.offline.abilities import abilities  # noqa: PLC0415 - when it is asked

        found = await abilities(box, voice, self._reader(voice, box))
        if not found:
            return f"{voice.say('no_tools')} {voice.say('connect')}"
        lines = [f"- {one.line}: {voice.quoted(one.example)}" for one in found]
        return "\n".join([voice.say("help"), *lines, voice.say("connect")])

    async def _refusal(self, step: SayStep, text: str, voice: Voice, box: Toolbox) -> str:
        """Tell why nothing was done, and the nearest sentence that would have worked."""
        found = await nearest(text, box, voice, self._reader(voice, box))
        shown = "" if found is None else voice.say("nearest_order", example=voice.quoted(found))
        return voice.joined([voice.sentence(step), shown])

    def _reader(self, voice: Voice, box: Toolbox) -> Callable[[str], Awaitable[Step]]:
        """Return a function that tells what a sentence would come to as a first message."""
        from agent.providers.offline.interpreter import understand  # noqa: PLC0415 - as below

        async def read(said: str) -> Step:
            analysis = analyse(said, voice.code, box.names)
            return (await understand(analysis, box, [], None, Likenesses(None))).step

        return read

    async def _step(
        self, turns: Sequence[ConversationTurn], voice: Voice, box: Toolbox, pending: AskStep | None
    ) -> tuple["Interpretation", Step]:
        """Return the next step of the last turn, after the calls that it made already."""
        # The first message needs it, no start
        from agent.providers.offline.addressee import addressed  # noqa: PLC0415 - see above
        from agent.providers.offline.interpreter import understand  # noqa: PLC0415 - see above

        *past, turn = turns
        said = analyse(addressed(turn.text, box), voice.code, box.names)
        understood = await understand(said, box, past, pending, self._likenesses)
        step = narrowed(understood.step, voice)
        if isinstance(step, CallStep) and step.purpose == UNTIL and len(turn.exchanges) == 1:
            from agent.providers.offline.interpreter import understand_until  # noqa: PLC0415 - as above

            now = turn.exchanges[0].result
            return understood, await understand_until(said, box, past, self._likenesses, now)
        return understood, _after_calls(step, turn, box, voice)


def _spoken(text: str) -> ChatResponse:
    return ChatResponse(text, heeds_only_this_turn=True)


def _every_tool(request: ChatRequest) -> Sequence[ToolSpec]:
    """Return all tools by name: nothing has to be searched for here."""
    tools = {spec.name: spec for spec in (*request.tools, *request.further_tools)}
    return [spec for name, spec in sorted(tools.items()) if name != _SEARCH]


def _after_calls(step: Step, turn: ConversationTurn, box: Toolbox, voice: Voice) -> Step:
    if not turn.exchanges:
        return step
    purpose = step.purpose if isinstance(step, CallStep) else ""
    if any(one.result.startswith(FAILURE) for one in turn.exchanges):
        return TellStep()
    if len(turn.exchanges) == lookups(step):
        from agent.providers.offline.scheduled_orders import change_scheduled  # noqa: PLC0415 - it is rare

        analysis = analyse(turn.text, voice.code, box.names)
        return change_scheduled(analysis, turn.exchanges, box)
    if len(turn.exchanges) > 1:
        return TellStep()
    return _after_first(purpose, turn, box, voice)


def _after_first(purpose: str, turn: ConversationTurn, box: Toolbox, voice: Voice) -> Step:
    """Return the step that follows a lookup, by its purpose."""
    (recalled,) = turn.exchanges
    if purpose == UNWATCH:
        from agent.providers.offline.watch_orders import no_longer  # noqa: PLC0415 - it is rare

        return no_longer(analyse(turn.text, voice.code, box.names), recalled.result, box)
    if recalled.order.tool != MEMORY_RECALL:
        return TellStep()
    if purpose == SOURCE:
        return source_asked(str(recalled.order.arguments.get("query")), recalled.result, voice)
    if purpose == FORGET:
        query = str(recalled.order.arguments.get("query", ""))
        return forgotten(query, recalled.result, box, voice)
    if purpose in {RECALL, LIST}:
        return told(turn.text, recalled.result, purpose, voice)
    return TellStep()


def _response(
    step: Step, turn: ConversationTurn, understood: "Interpretation", box: Toolbox, voice: Voice
) -> ChatResponse:
    # Beside what a step says it heeds, earlier turns are only looked at for a question that is
    # still open, and for that only at what the person said
    if isinstance(step, CallStep):
        calls = _calls(step.orders)
        fresh = not step.earlier
        return ChatResponse(tool_calls=calls, stop=StopReason.TOOLS, heeds_only_this_turn=fresh)
    if isinstance(step, AskStep):
        text = voice.question(step.need)
    elif isinstance(step, TellStep):
        text = _results(turn.exchanges, understood, box, voice)
    else:
        text = voice.sentence(step)
    return _spoken(text)


def _results(
    exchanges: Sequence[Exchange], understood: "Interpretation", box: Toolbox, voice: Voice
) -> str:
    meant = understood.step
    orders = meant.orders if isinstance(meant, CallStep) else ()
    if len(orders) > 1 and tuple(one.order for one in exchanges) == orders == all_at_rest(box):
        return told_at_rest(exchanges, box, voice)
    done = exchanges[-1].order.tool
    looked_up = next((before for tool, before in _LOOKED_UP.items() if done.endswith(tool)), "")
    recalls = [one for one in exchanges[:-1] if looked_up and one.order.tool.endswith(looked_up)]
    contents = contents_by_key([one.result for one in recalls])
    shown = [one for one in exchanges[lookups(meant) :] if one not in recalls] or exchanges
    told = answer(shown, box, voice, understood.asked, contents)
    step = understood.step
    beside = step.beside if isinstance(step, CallStep) else None
    return told if beside is None else voice.joined([told, voice.sentence(beside)])


def _calls(orders: Sequence[Order]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"offline-{uuid.uuid4().hex}", order.tool, _json(order)) for order in orders
    )


def _json(order: Order) -> str:
    return json.dumps(order.arguments, ensure_ascii=False, separators=(",", ":"))


def _asked_since(turns: Sequence[ConversationTurn]) -> int:
    """Return the start of the run of questions that the last message may answer."""
    start = len(turns) - 1
    while start > 0 and "?" in turns[start - 1].answer.replace("？", "?"):
        start -= 1
    return start


def _was_asked(step: AskStep, turn: ConversationTurn, voice: Voice) -> bool:
    """Return true if the answer holds the question: another voice may have spoken instead."""
    return voice.question(step.need) in turn.answer
