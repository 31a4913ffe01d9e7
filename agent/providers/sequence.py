"""A conversation in the order that every service accepts.

Histories are cut, calls are interrupted, and each service answers another kind of gap with
"bad request"; so gaps are closed here, once for all wire formats.
"""

from collections.abc import Sequence

from agent.messages import ChatMessage, Role

_NO_RESULT = "(no result: the call was interrupted)"
_BEGINNING = "(the beginning of this conversation is not shown)"


def well_formed(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """System messages first, then a person's; every call answered at once, no answer without one.

    The same object comes back where nothing was to be done.
    """
    system = [message for message in messages if message.role is Role.SYSTEM]
    said = [message for message in messages if message.role is not Role.SYSTEM]
    ordered = [*system, *_begun_by_a_person(_answered(said))]
    return tuple(messages) if ordered == list(messages) else tuple(ordered)


def _answered(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    ordered: list[ChatMessage] = []
    position = 0
    while position < len(said):
        message = said[position]
        position += 1
        if message.role is Role.TOOL:
            # Its call is not there any more
            continue
        ordered.append(message)
        results: dict[str, ChatMessage] = {}
        while position < len(said) and said[position].role is Role.TOOL:
            results.setdefault(said[position].call_id, said[position])
            position += 1
        for call in message.tool_calls:
            missing = ChatMessage.tool(call, _NO_RESULT, is_error=True)
            ordered.append(results.get(call.call_id, missing))
    return ordered


def _begun_by_a_person(said: list[ChatMessage]) -> list[ChatMessage]:
    if said and said[0].role is not Role.USER:
        return [ChatMessage.user(_BEGINNING), *said]
    return said
