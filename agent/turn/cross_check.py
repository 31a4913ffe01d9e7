"""Cross-check of an act: the same turn without memories below the owner's trust.

A model that saw such memories wants to act. It is asked again without them and without what was
said beside them. The same act then is the person's own wish, and the turn goes on from there, as
trusted as it is without the memories. Any other answer means that a memory led to the act: the
turn goes on as it was, and the gate asks. Looks at nothing but calls; decides nothing for the gate.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from agent.messages import ChatMessage, ToolCall
from agent.passage import Provenance
from agent.providers.base import ChatResponse
from agent.security.act import canonical
from agent.tools.base import ToolContext
from agent.turn.execution import lowered, shown_by
from agent.turn.progress import TurnProgress

Acts = Callable[[ToolCall], bool]


def trust_without_memories(
    messages: Iterable[ChatMessage], context: ToolContext, word: Provenance
) -> ToolContext | None:
    """Return the context without the recalled messages; None if nothing was recalled.

    Args:
        context: of the whole turn.
        word: trust of the person's message alone.
    """
    listed = list(messages)
    rest = [message for message in listed if not message.is_recalled]
    if len(rest) == len(listed):
        return None
    plain = replace(context, provenance=word, source=rest[-1].words.source)
    for message in rest:
        plain = lowered(plain, shown_by(message))
    return plain


def next_step(
    progress: TurnProgress, response: ChatResponse, acts: Acts
) -> tuple[TurnProgress, ChatResponse | None]:
    """Return the progress and the response to go on with; without one the model is asked again."""
    wanted = _acts_of(response, acts)
    if progress.checked is None:
        if wanted and _needs_check(progress):
            return _without_memories(progress, response), None
        return progress, response
    if not wanted and response.tool_calls:
        # It looks at something first
        return progress, response
    seen, led = progress.checked
    if wanted == _acts_of(led, acts):
        progress.checked = None
        return progress, response
    return seen, led


def _needs_check(progress: TurnProgress) -> bool:
    plain = progress.plain
    is_owners = plain is not None and plain.provenance >= Provenance.OWNER
    return is_owners and not progress.is_fresh and progress.whole.provenance < Provenance.OWNER


def _without_memories(progress: TurnProgress, led: ChatResponse) -> TurnProgress:
    """Return the turn from its beginning, without the memories."""
    plain = progress.plain or progress.whole
    # Checked once: what follows in a turn that a memory led is led by it, too
    progress.plain = None
    return replace(
        progress,
        messages=tuple(one for one in progress.messages if not one.is_recalled),
        whole=plain,
        fresh=plain,
        guidance=type(progress.guidance)(),
        added=[],
        shown=[],
        checked=(progress, led),
    )


def _acts_of(response: ChatResponse, acts: Acts) -> list[tuple[str, str]]:
    """Return the calls that change something, in a form that is equal for equal calls."""
    return sorted((call.name, _same(call)) for call in response.tool_calls if acts(call))


def _same(call: ToolCall) -> str:
    try:
        return canonical(call.arguments_json)
    except (ValueError, RecursionError):
        return call.arguments_json
