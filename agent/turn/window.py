"""Request of a turn, and one that fits a small window: prompt, tools, history and the answer.

Large windows are left alone; what a service refuses as too long is shortened there. Nothing is lost
for good: what does not fit one request stays in the database.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.messages import ChatMessage, Role
from agent.providers.base import ChatRequest
from agent.turn.compaction import tokens_of, tokens_of_text, turns_of, with_short_result

if TYPE_CHECKING:
    from agent.tools.selection import ToolSelection

# Models up to this size are read slowly, and lose sight of what matters among much else
SMALL_WINDOW_TOKENS = 12_000
# With the tools and a short message a first request then stays within 1,500 tokens
MOST_PROMPT_TOKENS, PROMPT_SHARE = 600, 0.15
MOST_TOOLS_TOKENS, TOOLS_SHARE = 720, 0.18
# The answer, with the thoughts of those who think
ANSWER_SHARE = 0.25
# Tokenizers differ from our measure by as much
SPARE_SHARE = 0.08
# Lines of the prompt are cut to these lengths in turn, until all of them fit
_LINE_CHARS = (400, 240, 160, 100, 60)
_PROSE_CHARS = 4
# Results of a turn that is too long by itself, in turn
_RESULT_CHARS = (1200, 400, 120)
_CUT = "…"


class FittedRequest(Struct, frozen=True):
    """Messages that fit.

    Args:
        is_shortened: older turns were left out.
    """

    messages: tuple[ChatMessage, ...]
    is_shortened: bool = False


class SmallWindow(Struct, frozen=True):
    """Window of a model, divided among what a request holds."""

    tokens: int

    @classmethod
    def of(cls, context_tokens: int | None) -> "SmallWindow | None":
        """Return the window if it is known and small."""
        if context_tokens is None or context_tokens > SMALL_WINDOW_TOKENS:
            return None
        return cls(context_tokens)

    @property
    def answer_tokens(self) -> int:
        return int(self.tokens * ANSWER_SHARE)

    @property
    def tools_tokens(self) -> int:
        return min(MOST_TOOLS_TOKENS, int(self.tokens * TOOLS_SHARE))

    @property
    def prompt_tokens(self) -> int:
        return min(MOST_PROMPT_TOKENS, int(self.tokens * PROMPT_SHARE))

    def fitted(self, messages: Sequence[ChatMessage], tools_tokens: int) -> FittedRequest:
        """Return the prompt, the newest turns that fit, and always the last one.

        Args:
            tools_tokens: cost of the tools that are told of.
        """
        head = _fitted_prompt(
            [one for one in messages if one.role is Role.SYSTEM], self.prompt_tokens
        )
        turns = turns_of([one for one in messages if one.role is not Role.SYSTEM])
        room = self.tokens - self.answer_tokens - int(self.tokens * SPARE_SHARE) - tools_tokens
        room -= _cost(head)
        kept: list[ChatMessage] = []
        for age, turn in enumerate(reversed(turns)):
            if age == 0:
                turn = _with_short_results(turn, room)  # noqa: PLW2901 - the turn as it is shown
            elif _cost(turn) > room:
                return FittedRequest((*head, *kept), is_shortened=True)
            room -= _cost(turn)
            kept[:0] = turn
        return FittedRequest((*head, *kept))


def _cost(messages: Sequence[ChatMessage]) -> int:
    return sum(map(tokens_of, messages))


def _fitted_prompt(prompt: Sequence[ChatMessage], most_tokens: int) -> list[ChatMessage]:
    """Shorten the lines of what changes first, then those of what stays."""
    fitted = list(prompt)
    for place in reversed(range(len(fitted))):
        others = _cost(fitted) - tokens_of(fitted[place])
        if (text := _shortened(fitted[place].text, most_tokens - others)) is not None:
            fitted[place] = fitted[place].saying(text)
    return fitted


def _shortened(text: str, most_tokens: int) -> str | None:
    """Cut long lines alike, then the end; None where it fits as it is."""
    if tokens_of_text(text) <= most_tokens:
        return None
    for limit in _LINE_CHARS:
        lines = (
            f"{line[:limit]}{_CUT}" if len(line) > limit else line for line in text.split("\n")
        )
        cut = "\n".join(lines)
        if tokens_of_text(cut) <= most_tokens:
            return cut
    # So much is left of each part whatever the others take: the first lines say what it is about
    least_chars = _LINE_CHARS[0]
    return cut[: max(most_tokens * _PROSE_CHARS, least_chars)]


def _with_short_results(turn: Sequence[ChatMessage], room: int) -> tuple[ChatMessage, ...]:
    """Cut the results of a turn that is too long by itself, the older ones more."""
    fitted = list(turn)
    for limit in _RESULT_CHARS:
        for place in range(len(fitted)):
            if _cost(fitted) <= room:
                return tuple(fitted)
            fitted[place] = with_short_result(fitted[place], limit)
    return tuple(fitted)


class ComposedRequest(Struct, frozen=True):
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
    window = None if context_tokens is None else SmallWindow.of(context_tokens)
    if window is not None:
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
