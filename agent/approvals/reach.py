"""Reach of a call's data: the readers of the answer, and the hosts it is sent to."""

from agent.errors import BadArguments
from agent.messages import Effect, ToolCall
from agent.security.access import DataReach, may_leave, may_read
from agent.security.policy import Verdict
from agent.security.shares import Disclosure
from agent.tools.base import AnyTool, Arguments, ToolContext


def reach_of(tool: AnyTool, arguments: Arguments, context: ToolContext) -> DataReach:
    """Decide how far the data of a call may go."""
    held = context.shares.holdings(tool.shows(arguments), context.person)
    reach = may_read(held, context.audience)
    looks = tool.effect_of(arguments) is Effect.READ
    if reach.verdict is Verdict.ALLOW and tool.sends_out and looks:
        # Whatever else is sent asks by its effect
        return may_leave(context.provenance, holds_private=context.holds_private)
    return reach


def reach_of_file(path: str, context: ToolContext) -> DataReach:
    """Decide whether a file of the workspace may go along with an answer."""
    held = context.shares.holdings(Disclosure(files=(path,)), context.person)
    return may_read(held, context.audience)


def holds_private(tool: AnyTool | None, call: ToolCall, context: ToolContext) -> bool:
    """Return whether something that is not everybody's may be in the result of a call."""
    if tool is None:
        return False
    try:
        shown = tool.shows(tool.parse(call.arguments_json))
    except BadArguments:
        # It was not run
        return False
    return context.shares.holds_private(shown, context.person)
