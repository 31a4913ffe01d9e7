"""Request of a turn: its messages and tools, as far as the model's window has room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.messages import ChatMessage
from agent.providers.base import ChatRequest

if TYPE_CHECKING:
    from agent.tools.selection import ToolSelection


@dataclass(frozen=True, slots=True)
class ComposedRequest:
    """Request, and whether older turns had to stay out of it."""

    request: ChatRequest
    is_shortened: bool = False


async def compose(
    messages: Sequence[ChatMessage], shelf: "ToolSelection", context_tokens: int | None
) -> ComposedRequest:
    """Return the request with everything, or with what a small window has room for.

    Args:
        context_tokens: the window of the model; None where nobody says.
    """
    if context_tokens is not None:
        from agent.turn.window import SmallWindow  # noqa: PLC0415 - where the window is known

        if (window := SmallWindow.of(context_tokens)) is not None:
            tools = await shelf.fitting(messages, window.tools_tokens)
            fitted = window.fitted(messages, tools.tokens)
            request = ChatRequest(
                fitted.messages,
                tools.shown,
                max_tokens=window.answer_tokens,
                further_tools=tools.waiting,
            )
            return ComposedRequest(request, fitted.is_shortened)
    tools = shelf.divide(messages)
    return ComposedRequest(ChatRequest(tuple(messages), tools.shown, further_tools=tools.waiting))
