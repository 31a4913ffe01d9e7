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

    It may be cancelled; but an act that has begun is done to its end, and what came of it goes on
    record.

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
    acting = asyncio.Event()

    async def act() -> None:
        acting.set()

    seams = TurnSeams(ask, _nothing, act, hooks=parts.hooks)

    async def used() -> ToolResult:
        try:
            async with asyncio.timeout(limit_s):
                return await parts.runner.use(call, context, seams, turn)
        except TimeoutError:
            return ToolResult.failed(own("given up after {} s", limit_s))

    running = asyncio.create_task(used())
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if not acting.is_set():
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raise


async def _nothing(*_: object) -> None:
    """A call outside a turn has no draft, and is never run again after a crash."""
