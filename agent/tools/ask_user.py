"""Tool that asks the person a question; their next message in the conversation is the answer.

It asks what to do. Only the gate asks for the approval of a call.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from agent.errors import ChannelError
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, fields, outside, own
from agent.security.shares import NOTHING_PRIVATE
from agent.text.printable import printable_text
from agent.tools.base import Arguments, Tool, ToolContext

# As long as an approval may take; the turn then has time left to continue
ANSWER_TIMEOUT_S = 120.0
MAX_QUESTION_CHARS = 1000
MAX_ANSWER_CHARS = 8000
_Choice = Annotated[str, Meta(min_length=1, max_length=80)]


class AskArguments(Arguments, frozen=True):
    """Question to a person, with choices if there are any."""

    question: Annotated[str, Meta(min_length=1, max_length=MAX_QUESTION_CHARS)]
    choices: Annotated[tuple[_Choice, ...], Meta(max_length=8)] = ()


class AskUserTool(Tool[AskArguments]):
    """Asks the person and waits for their own words."""

    reads = Provenance.WEB
    name = "ask_user"
    description = own(
        "Ask the person a question and wait for the answer, where you cannot go on without."
    )
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = AskArguments

    def __init__(self, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    async def execute(self, arguments: AskArguments, context: ToolContext) -> ToolResult:
        if context.inquire is None:
            return ToolResult.failed(own("no person can be asked from here"))
        try:
            async with asyncio.timeout(self._timeout_s):
                heard = await context.inquire(_shown(arguments))
        except TimeoutError:
            late = own("no answer within {} s: continue without it", self._timeout_s)
            return ToolResult.failed(late)
        except ChannelError as err:
            return ToolResult.failed(err.words(self.reads))
        said = printable_text(heard.text, MAX_ANSWER_CHARS)
        answer = chosen(said, arguments.choices)
        words = outside(answer, heard.provenance, context.source)
        return ToolResult.done(fields({"answer": words}))


def chosen(said: str, choices: Sequence[str]) -> str:
    """Return the choice that the answer names by words or number; otherwise the answer itself."""
    place = place_of(said, choices)
    return said if place is None else choices[place]


def place_of(said: str, choices: Sequence[str]) -> int | None:
    """Return which choice an answer names; None for none. Words go before numbers."""
    names = [choice.strip().casefold() for choice in choices]
    numbers = [str(number) for number in range(1, len(choices) + 1)]
    whole = said.strip().casefold()
    # A choice may be a number, or end with a bracket
    for word in (whole, whole.rstrip(".)")):
        for called in (names, numbers):
            if word in called:
                return called.index(word)
    return None


def _shown(arguments: AskArguments) -> str:
    """Return the question as the person sees it."""
    lines = [arguments.question, *(f"{n}. {one}" for n, one in enumerate(arguments.choices, 1))]
    return printable_text("\n".join(lines), 2 * MAX_QUESTION_CHARS)
