"""Conversation in the order that every service accepts.

Histories are cut, calls are interrupted, and each service answers another kind of gap with
"bad request"; so gaps are closed here, once for all wire formats.
"""

from collections.abc import Iterator, Sequence

from agent.messages import ChatMessage, Role, ToolCall
from agent.passage import own

# Looked up here once, not for each message of each request: a member of an enum is slow to find
_SYSTEM, _USER, _TOOL = Role.SYSTEM, Role.USER, Role.TOOL
_NO_RESULT = "(no result: the call was interrupted)"
_BEGINNING = "(the beginning of this conversation is not shown)"


def well_formed(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Put system messages first, then a person's; answer every call at once, and only calls.

    The same object comes back where nothing was to be done.
    """
    system = [message for message in messages if message.role is _SYSTEM]
    said = [message for message in messages if message.role is not _SYSTEM]
    ordered = [*system, *_begun_by_a_person(_answered(said))]
    return tuple(messages) if ordered == list(messages) else tuple(ordered)


def _answered(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    ordered: list[ChatMessage] = []
    for at, message in enumerate(said):
        # A result follows its call, or its call is not there any more
        if message.role is not _TOOL:
            ordered.append(message)
            if message.tool_calls:
                ordered += _results(message.tool_calls, said, at + 1)
    return ordered


def _results(
    calls: Sequence[ToolCall], said: Sequence[ChatMessage], start: int
) -> Iterator[ChatMessage]:
    end = start
    while end < len(said) and said[end].role is _TOOL:
        end += 1
    # The first of two that answer the same call
    given = {message.call_id: message for message in reversed(said[start:end])}
    for call in calls:
        result = given.get(call.call_id)
        yield result or ChatMessage.tool(call, own(_NO_RESULT), is_error=True)


def _begun_by_a_person(said: list[ChatMessage]) -> list[ChatMessage]:
    if said and said[0].role is not _USER:
        return [ChatMessage.user(own(_BEGINNING)), *said]
    return said
