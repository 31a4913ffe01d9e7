"""What a model is told of a call that cannot be understood, and how often it may try again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from agent.errors import BadArguments
from agent.messages import ToolCall, ToolResult

# Who has not got it right by then does not get it right
MAX_REPAIR_ROUNDS = 2
# Of a name that a model has made up
_SHOWN_NAME_CHARS = 64


@dataclass(slots=True)
class Repairs:
    """The rounds of one turn in which calls were not understood."""

    rounds: int = 0
    left_out: list[str] = field(default_factory=list)

    def answer(self, call: ToolCall, problem: ToolResult) -> ToolResult:
        """The problem, for the model to repair; beyond the last round that the turn goes on."""
        if self.rounds < MAX_REPAIR_ROUNDS:
            return problem
        name = call.name[:_SHOWN_NAME_CHARS]
        if name not in self.left_out:
            self.left_out.append(name)
        return _error(
            "left_out",
            name,
            "this call was wrong again and is left out; go on without it, and tell the person "
            "that it was not done",
        )

    def sentence(self) -> str:
        """For the person, after the answer; empty where everything was understood."""
        if not self.left_out:
            return ""
        return f"\n(Not done, because the call was not understood: {', '.join(self.left_out)}.)"


def unknown_tool(call: ToolCall, nearest: Sequence[str]) -> ToolResult:
    """There is no such tool, what may have been meant, and how to find more."""
    name = call.name[:_SHOWN_NAME_CHARS]
    more = "tool_search finds tools by what they do"
    message = f"there is no tool {name!r}"
    return _error("unknown_tool", name, message, nearest=list(nearest), more=more)


def bad_arguments(call: ToolCall, err: BadArguments) -> ToolResult:
    """What does not fit, with its path."""
    return _error("bad_arguments", call.name, f"bad arguments for {call.name}: {err}")


def _error(kind: str, tool: str, message: str, **more: object) -> ToolResult:
    told = {"error": kind, "tool": tool, "message": message, **more}
    return ToolResult(success=False, text=msgspec.json.encode(told).decode())
