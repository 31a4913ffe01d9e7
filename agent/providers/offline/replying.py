"""What the offline provider answers: from words, a little grammar and the tools there are.

Everything it knows of a conversation is in the request: the same messages and tools give the same
answer. It never raises on any text, and never acts on what it only half understood.
"""

import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.messages import ToolCall, ToolSpec
from agent.providers.base import ChatRequest, ChatResponse, Stop
from agent.providers.offline.answers import answer
from agent.providers.offline.conversation import Exchange, Turn, turns_of
from agent.providers.offline.everything import all_at_rest, told_at_rest
from agent.providers.offline.later import UNTIL
from agent.providers.offline.learnt import Learnt
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.manners import manners
from agent.providers.offline.nearest import narrowed, nearest
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import Ask, Do, Order, Say, Step, Tell
from agent.providers.offline.recalled import contents_by_key, forgotten, source_asked, told
from agent.providers.offline.recent import FAILURE
from agent.providers.offline.remembering import FORGET, LIST, RECALL, SOURCE, UNWATCH
from agent.providers.offline.toolbox import (
    MEMORY_FORGET,
    MEMORY_RECALL,
    MEMORY_SOURCE,
    Toolbox,
    toolbox,
)
from agent.providers.offline.voices import voices_of
from agent.providers.offline.wording import Voice
from agent.storage.phrases import Phrases

# What shows the other tools to models that are not shown all of them
_SEARCH = "tool_search"

if TYPE_CHECKING:
    from agent.providers.offline.understanding import Understanding

# What is answered where a message was not understood, or not all of it
_NOT_UNDERSTOOD = frozenset({"not_understood", "unaccounted", "not_plain"})
# What was only looked up to find out what is meant, and is not told beside what was done then
_LOOKED_UP = {
    MEMORY_FORGET: MEMORY_RECALL,
    MEMORY_SOURCE: MEMORY_RECALL,
    "watch_remove": "watch_list",
    "_write": "time_now",
}


class Replies:
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

    async def to(self, request: ChatRequest) -> ChatResponse:
        box = toolbox(_every_tool(request))
        turns = turns_of(request.messages)
        if not turns:
            return ChatResponse(await self._help(Voice("en"), box))
        voices = voices_of(turns)
        learnt = Learnt(self._phrases, request.person, request.conversation)
        pending = None
        for place in range(_asked_since(turns), len(turns) - 1):
            turn, voice = turns[place], voices[place]
            _, step = await self._step(turns[: place + 1], voice, box, pending)
            if pending is None:
                step = learnt.instead(step, turn.text, box, is_past=True)
            pending = step if isinstance(step, Ask) and _was_asked(step, turn, voice) else None
        understood, step = await self._step(turns, voices[-1], box, pending)
        if not turns[-1].exchanges:
            if pending is None or step == Say("not_understood"):
                step = learnt.instead(step, turns[-1].text, box)
            await learnt.note(step, turns[-1], pending)
            key = manners(turns[-1].text, voices[-1].code, self._called)
            if key is not None and pending is None and isinstance(step, (Say, Do)):
                return _spoken(voices[-1].manners(key, self._called))
            if step == Say("help"):
                return _spoken(await self._help(voices[-1], box))
            if isinstance(step, Say) and step.key in _NOT_UNDERSTOOD:
                return _spoken(await self._refusal(step, turns[-1].text, voices[-1], box))
        return _response(step, turns[-1], understood, box, voices[-1])

    async def _help(self, voice: Voice, box: Toolbox) -> str:
        """What can be said here, each with a sentence that works."""
        from agent.providers.offline.abilities import abilities  # noqa: PLC0415 - when it is asked

        found = await abilities(box, voice, self._reader(voice, box))
        if not found:
            return f"{voice.say('no_tools')} {voice.say('connect')}"
        lines = [f"- {one.line}: {voice.quoted(one.example)}" for one in found]
        return "\n".join([voice.say("help"), *lines, voice.say("connect")])

    async def _refusal(self, step: Say, text: str, voice: Voice, box: Toolbox) -> str:
        """Why nothing was done, and the nearest that would have been."""
        found = await nearest(text, box, voice, self._reader(voice, box))
        shown = "" if found is None else voice.say("nearest_order", example=voice.quoted(found))
        return voice.joined([voice.sentence(step), shown])

    def _reader(self, voice: Voice, box: Toolbox) -> Callable[[str], Awaitable[Step]]:
        """Tells what a sentence would come to, if it were the first that is said."""
        from agent.providers.offline.understanding import understand  # noqa: PLC0415 - as below

        async def read(said: str) -> Step:
            analysis = analyse(said, voice.code, box.names)
            return (await understand(analysis, box, [], None, Likenesses(None))).step

        return read

    async def _step(
        self, turns: Sequence[Turn], voice: Voice, box: Toolbox, pending: Ask | None
    ) -> tuple["Understanding", Step]:
        """What follows in the last of these turns, after whatever was called in it already."""
        # The first message needs it, no start
        from agent.providers.offline.understanding import understand  # noqa: PLC0415 - see above

        *past, turn = turns
        said = analyse(turn.text, voice.code, box.names)
        understood = await understand(said, box, past, pending, self._likenesses)
        step = narrowed(understood.step, voice)
        if isinstance(step, Do) and step.purpose == UNTIL and len(turn.exchanges) == 1:
            from agent.providers.offline.understanding import understand_until  # noqa: PLC0415 - as above

            now = turn.exchanges[0].result
            return understood, await understand_until(said, box, past, self._likenesses, now)
        return understood, _after_calls(step, turn, box, voice)


def _spoken(text: str) -> ChatResponse:
    return ChatResponse(text, heeds_only_this_turn=True)


def _every_tool(request: ChatRequest) -> Sequence[ToolSpec]:
    """Nothing has to be searched for here: all tools, in the order of their names."""
    tools = {spec.name: spec for spec in (*request.tools, *request.further_tools)}
    return [spec for name, spec in sorted(tools.items()) if name != _SEARCH]


def _after_calls(step: Step, turn: Turn, box: Toolbox, voice: Voice) -> Step:
    if not turn.exchanges:
        return step
    purpose = step.purpose if isinstance(step, Do) else ""
    if len(turn.exchanges) > 1 or turn.exchanges[0].result.startswith(FAILURE):
        return Tell()
    return _after_first(purpose, turn, box, voice)


def _after_first(purpose: str, turn: Turn, box: Toolbox, voice: Voice) -> Step:
    """What follows from what was looked up for a purpose."""
    (recalled,) = turn.exchanges
    if purpose == UNWATCH:
        from agent.providers.offline.watching import no_longer  # noqa: PLC0415 - it is rare

        return no_longer(analyse(turn.text, voice.code, box.names), recalled.result, box)
    if recalled.order.tool != MEMORY_RECALL:
        return Tell()
    if purpose == SOURCE:
        return source_asked(str(recalled.order.arguments.get("query")), recalled.result, voice)
    if purpose == FORGET:
        query = str(recalled.order.arguments.get("query", ""))
        return forgotten(query, recalled.result, box, voice)
    if purpose in {RECALL, LIST}:
        return told(turn.text, recalled.result, purpose, voice)
    return Tell()


def _response(
    step: Step, turn: Turn, understood: "Understanding", box: Toolbox, voice: Voice
) -> ChatResponse:
    # Beside what a step says it heeds, earlier turns are only looked at for a question that is
    # still open, and for that only at what the person said
    if isinstance(step, Do):
        calls = _calls(step.orders)
        fresh = not step.earlier
        return ChatResponse(tool_calls=calls, stop=Stop.TOOLS, heeds_only_this_turn=fresh)
    if isinstance(step, Ask):
        text = voice.question(step.need)
    elif isinstance(step, Tell):
        text = _results(turn.exchanges, understood, box, voice)
    else:
        text = voice.sentence(step)
    return _spoken(text)


def _results(
    exchanges: Sequence[Exchange], understood: "Understanding", box: Toolbox, voice: Voice
) -> str:
    meant = understood.step
    orders = meant.orders if isinstance(meant, Do) else ()
    if len(orders) > 1 and tuple(one.order for one in exchanges) == orders == all_at_rest(box):
        return told_at_rest(exchanges, box, voice)
    done = exchanges[-1].order.tool
    looked_up = next((before for tool, before in _LOOKED_UP.items() if done.endswith(tool)), "")
    recalls = [one for one in exchanges[:-1] if looked_up and one.order.tool.endswith(looked_up)]
    contents = contents_by_key([one.result for one in recalls])
    shown = [one for one in exchanges if one not in recalls]
    told = answer(shown, box, voice, understood.asked, contents)
    step = understood.step
    beside = step.beside if isinstance(step, Do) else None
    return told if beside is None else voice.joined([told, voice.sentence(beside)])


def _calls(orders: Sequence[Order]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"offline-{uuid.uuid4().hex}", order.tool, _json(order)) for order in orders
    )


def _json(order: Order) -> str:
    return json.dumps(order.arguments, ensure_ascii=False, separators=(",", ":"))


def _asked_since(turns: Sequence[Turn]) -> int:
    """Where the run of questions begins that the last message may answer."""
    start = len(turns) - 1
    while start > 0 and "?" in turns[start - 1].answer.replace("？", "?"):
        start -= 1
    return start


def _was_asked(step: Ask, turn: Turn, voice: Voice) -> bool:
    """The question stands in what was answered: another voice may have spoken instead."""
    return voice.question(step.need) in turn.answer
