"""Ids of calls that another service gave, in a form that the asked one takes.

A history outlives a change of the model, and services differ: Anthropic takes letters, digits, `_`
and `-`, and no id twice; OpenAI at most 40 characters; Mistral nine letters and digits. A new id
follows from the old one, so that equal requests give equal bytes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from msgspec.structs import replace

from agent.messages import ChatMessage, ToolCall

# What every service takes
SHORT = re.compile("[A-Za-z0-9]{9}")
_CHARS = 9


def _never(_message: ChatMessage) -> bool:
    return False


def renamed(
    messages: Sequence[ChatMessage],
    fits: re.Pattern[str],
    is_kept: Callable[[ChatMessage], bool] = _never,
) -> Iterator[ChatMessage]:
    """Yield messages with new ids for calls whose own do not fit, or stood before.

    Args:
        messages: well formed, so that results follow their calls.
        is_kept: whether a message goes back with its own ids, whatever they are.
    """
    used: set[str] = set()
    new: dict[str, str] = {}
    for message in messages:
        if message.tool_calls:
            is_own = is_kept(message)
            new = {
                call.call_id: call.call_id if is_own else _new_id(call, fits, used)
                for call in message.tool_calls
            }
            used.update(new.values())
        yield _with_ids(message, new)


def _new_id(call: ToolCall, fits: re.Pattern[str], used: set[str]) -> str:
    call_id, tries = call.call_id, 0
    while call_id in used or not fits.fullmatch(call_id):
        call_id = sha256(f"{call.call_id} {tries}".encode()).hexdigest()[:_CHARS]
        tries += 1
    return call_id


def _with_ids(message: ChatMessage, new: dict[str, str]) -> ChatMessage:
    """Return the same object where nothing changes: what was made of it is kept."""
    call_id = new.get(message.call_id, message.call_id)
    if call_id != message.call_id:
        return replace(message, call_id=call_id)
    if all(new[call.call_id] == call.call_id for call in message.tool_calls):
        return message
    calls = tuple(replace(call, call_id=new[call.call_id]) for call in message.tool_calls)
    return replace(message, tool_calls=calls)
