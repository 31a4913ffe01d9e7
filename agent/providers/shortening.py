"""A conversation made shorter for a model that cannot be shown all of it.

Whole turns go, the oldest first: a tool result never stays without its call.
"""

from collections.abc import Sequence

from agent.messages import ChatMessage, Role

# Of a long tool result, so much still tells what it was
KEPT_RESULT_CHARS = 2000
_CUT = "\n[... the rest was cut: the conversation is longer than the model can be shown]"


def shortened(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...] | None:
    """The older half of the turns left out, or where there is one turn, its long results cut.

    None where nothing can be made shorter.
    """
    first = next((i for i, message in enumerate(messages) if message.role is Role.USER), None)
    if first is None:
        return None
    head, said = tuple(messages[:first]), messages[first:]
    turns = [i for i, message in enumerate(said) if message.role is Role.USER]
    if len(turns) > 1:
        return (*head, *said[turns[(len(turns) + 1) // 2] :])
    cut = tuple(_with_short_result(message) for message in said)
    return None if cut == tuple(said) else (*head, *cut)


def _with_short_result(message: ChatMessage) -> ChatMessage:
    if message.role is not Role.TOOL or len(message.text) <= KEPT_RESULT_CHARS + len(_CUT):
        return message
    return message.saying(message.text[:KEPT_RESULT_CHARS] + _CUT)
