"""A conversation as turns: what the person said, what was called, what was answered."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agent.messages import ChatMessage, Role, ToolCall
from agent.providers.offline.plan import Order

# A question is answered in the next message or two; older turns only tell the language
MAX_TURNS = 8
# As `agent.turn.attachments` writes them: a line in brackets, and marked lines below it
_ASIDES = re.compile(r"\A(?:\([^()\n]{1,60}, which orders nothing:\)\n(?:>[^\n]*(?:\n|\Z))+\n*)+")
# Files, as the agent writes them behind what a person said
_FILE = re.compile(
    r"(?:^|\n\n)(?:\[(?:IMAGE|AUDIO|VIDEO|DOCUMENT):([^\[\]\n]+)\]|\[picture:? ([^\[\]\n]+)\]"
    r"|\(The person is told this already)"
)
# What a channel writes for what is no text, on a line of its own: a sticker, a place, a forward
_STAND_IN = re.compile(
    r"^\[(?:(?:an? |something )[^\[\]\n]*|[^\[\]\n]*: a message that nothing here can read)\]$\n?",
    re.MULTILINE,
)


class Exchange(Struct, frozen=True):
    """One call and what came of it."""

    order: Order
    result: str


class ConversationTurn(Struct, frozen=True):
    """Messages from one of the person to the next.

    Args:
        text: what the person said, without the agent's own marks of files.
        files: the places of files that came with it.
    """

    text: str
    exchanges: tuple[Exchange, ...]
    answer: str
    files: tuple[str, ...] = ()


def turns_of(messages: Sequence[ChatMessage]) -> list[ConversationTurn]:
    """Return the last turns, oldest first; the last one is the one to answer."""
    stretches: list[list[ChatMessage]] = []
    for message in messages:
        if message.begins_turn:
            stretches.append([])
        if stretches and message.role is not Role.SYSTEM:
            stretches[-1].append(message)
    turns = [_turn(stretch) for stretch in stretches[-MAX_TURNS:]]
    if earlier := _files_in(stretches[:-MAX_TURNS]):
        # A file that is read page by page outlives the talk about it
        turns[0] = replace(turns[0], files=(*earlier, *turns[0].files))
    return turns


def _files_in(stretches: Sequence[Sequence[ChatMessage]]) -> tuple[str, ...]:
    return tuple(place for one in stretches for place in separated(one[0].text)[1])


def _turn(stretch: Sequence[ChatMessage]) -> ConversationTurn:
    calls = {call.call_id: call for message in stretch for call in message.tool_calls}
    exchanges = tuple(
        Exchange(_order(calls.get(message.call_id), message.tool_name), message.text)
        for message in stretch
        if message.role is Role.TOOL
    )
    last = stretch[-1]
    spoken = last.role is Role.ASSISTANT and not last.tool_calls
    text, files = separated(without_asides(stretch[0].text))
    return ConversationTurn(text, exchanges, last.text if spoken else "", files)


def _order(call: ToolCall | None, tool_name: str) -> Order:
    if call is None:
        return Order(tool_name, {})
    return Order(call.name, table_of(call.arguments_json))


def table_of(text: str) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one if the text is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def without_asides(text: str) -> str:
    """Return the message alone: this provider reads every word as an order."""
    return _ASIDES.sub("", text)


def separated(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what the person said, and the places of the files that they sent with it."""
    first = _FILE.search(text)
    said = text if first is None else text[: first.start()].strip()
    found = [one[1] for one in _FILE.finditer(text) if one[1]]
    # The name of a sticker or a place is nobody's order
    return _STAND_IN.sub("", said), tuple(found)
