"""Tool calls of callers outside, who have a model of their own: each is a turn, behind the gate."""

import asyncio

from agent.approvals.questions import Ask
from agent.messages import Inbound, ToolCall, ToolResult
from agent.messaging.conversation_parts import ConversationParts
from agent.passage import own
from agent.tools.base import ToolContext
from agent.turn.seams import TurnSeams

# Where the owner reads that a call comes from
SOURCE = "the model of another assistant"


async def use_tool(
    parts: ConversationParts, message: Inbound, call: ToolCall, ask: Ask, turn: str, limit_s: float
) -> ToolResult:
    """Run a call that a message stands for; the caller's word counts as the message's.

    Args:
        turn: what the audit log knows the call by.
    """
    context = ToolContext(
        message.conversation,
        message.who,
        message.provenance,
        SOURCE,
        place=message.address,
        audience=parts.audience_of(message),
        shares=parts.shares,
    )
    seams = TurnSeams(ask, _nothing, _nothing, hooks=parts.hooks)
    try:
        async with asyncio.timeout(limit_s):
            return await parts.runner.use(call, context, seams, turn)
    except TimeoutError:
        return ToolResult.failed(own("given up after {} s", limit_s))


async def _nothing(*_: object) -> None:
    """A call outside a turn has no draft, and is never run again after a crash."""
