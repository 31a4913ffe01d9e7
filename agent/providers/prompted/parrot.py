"""Calls that a model only repeats: they stand in what it was given, word for word.

A page, a file or a memory may hold the text of a call. A model that quotes it orders nothing.
"""

from collections.abc import Iterable, Sequence

from agent.messages import ChatMessage, Role

# A call that is hardly more than a tool's name is everybody's
_LEAST_CHARS = 12


def is_repeated(calls: Iterable[str], messages: Sequence[ChatMessage]) -> bool:
    """Return true if one of the calls stands in a message that the model has not written."""
    wanted = [text for text in map(_squeezed, calls) if len(text) >= _LEAST_CHARS]
    if not wanted:
        return False
    given = [_squeezed(one.text) for one in messages if one.role is not Role.ASSISTANT]
    return any(call in text for call in wanted for text in given)


def _squeezed(text: str) -> str:
    return "".join(text.split())
