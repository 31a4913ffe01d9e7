"""What a model is told of a call that cannot be understood, and how often it may try again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.errors import BadArguments
from agent.messages import ToolCall, ToolResult
from agent.passage import Fact, Passage, Provenance, echo, fields, own

# Who has not got it right by then does not get it right
MAX_REPAIR_ROUNDS = 2
_LEFT_OUT = (
    "this call was wrong again and is left out; go on without it, and tell the person "
    "that it was not done"
)
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
        return _error(own("left_out"), name, own(_LEFT_OUT))

    def sentence(self) -> str:
        """For the person, after the answer; empty where everything was understood."""
        if not self.left_out:
            return ""
        return f"\n(Not done, because the call was not understood: {', '.join(self.left_out)}.)"


def unknown_tool(call: ToolCall, nearest: Sequence[Passage]) -> ToolResult:
    """There is no such tool, what may have been meant, and how to find more."""
    name = call.name[:_SHOWN_NAME_CHARS]
    more = own("tool_search finds tools by what they do")
    message = own("there is no tool '{}'", echo(name))
    return _error(own("unknown_tool"), name, message, nearest=list(nearest), more=more)


def bad_arguments(call: ToolCall, err: BadArguments, reads: Provenance) -> ToolResult:
    """What does not fit, with its path; `reads` is how little the tool's own words are trusted."""
    message = own("bad arguments for {}: {}", echo(call.name), err.words(reads))
    return _error(own("bad_arguments"), call.name, message)


def _error(kind: Passage, tool: str, message: Passage, **more: Fact) -> ToolResult:
    told: dict[str, Fact] = {"error": kind, "tool": echo(tool), "message": message, **more}
    return ToolResult.failed(fields(told))
