"""Turn of another agent inside a turn, with no more rights than the outer turn.

Its tools are a subset of the asker's, behind the same gate; it starts with the asker's present
trust; questions go to the same person, and all limits count for the same turn.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import DelegationRefused
from agent.messages import ChatMessage, Provenance, ToolCall, ToolResult
from agent.passage import configured, outside
from agent.tools.base import AnyTool, ToolContext
from agent.tools.nested_turn import NestedAnswer, NestedOrder
from agent.tools.registry import Registry, ToolSource
from agent.turn.hooks import OwnerHooks
from agent.turn.seams import TurnSeams

if TYPE_CHECKING:
    from agent.turn.outcome import TurnOutcome
    from agent.turn.progress import TurnScope

# One agent may ask another, and that one a third
MAX_DEPTH = 2
# A turn that needs more is looping
MAX_ORDERS_PER_TURN = 8
# Kept of a cancelled delegation: its last results, each shortened
MAX_READ, MAX_READ_CHARS = 8, 2000
# Of the time that is left of a turn; the rest is for those asked later and for the answer
_SHARE_OF_TIME = 2 / 3
_TO_WHOM = (
    "Another agent, not a person, gives you the task and reads your answer. Do only what the task "
    "says; your last message is all that is handed back."
)


class NestedRunner(Protocol):
    """Runs turns, and makes a runner with fewer tools and rounds."""

    registry: Registry

    def limited_to(self, tools: ToolSource, max_iterations: int) -> "NestedRunner":
        """Return a runner of these tools, behind the same gate."""

    async def run(
        self,
        messages: tuple[ChatMessage, ...],
        context: ToolContext,
        word: Provenance,
        seams: TurnSeams,
        model: str | None = None,
        within: "TurnScope | None" = None,
    ) -> "TurnOutcome":
        """Return the answer to the last of `messages`."""


class Delegation(Struct, frozen=True):
    """Runs another agent for one turn.

    Args:
        context: with the trust that the asker's turn has fallen to.
    """

    runner: NestedRunner
    context: ToolContext
    seams: TurnSeams
    within: "TurnScope"

    async def __call__(self, order: NestedOrder) -> NestedAnswer:
        """Run the order; raise DelegationRefused if it is too deep or one too many."""
        within = self.within
        if within.depth >= MAX_DEPTH:
            raise DelegationRefused(f"delegation is limited to {MAX_DEPTH} levels")
        if len(within.orders) >= MAX_ORDERS_PER_TURN:
            raise DelegationRefused(
                f"the limit of {MAX_ORDERS_PER_TURN} delegations in one turn is reached"
            )
        within.orders.append(order.agent)
        so_far = _DelegateProgress(self.context, self.seams.hooks)
        now_s = asyncio.get_running_loop().time()
        limit_s = min(order.timeout_s, _SHARE_OF_TIME * max(within.ends_s - now_s, 0.0))
        deeper = within.deeper(now_s + limit_s)
        try:
            async with asyncio.timeout_at(deeper.ends_s):
                return await self._run(order, so_far, deeper)
        except TimeoutError:
            return so_far.told(limit_s)

    async def _run(
        self, order: NestedOrder, so_far: "_DelegateProgress", deeper: "TurnScope"
    ) -> NestedAnswer:
        task = outside(order.task, self.context.provenance, self.context.source)
        outcome = await self.runner.limited_to(
            partial(_allowed, self.runner.registry, order.tools), order.max_iterations
        ).run(
            (
                ChatMessage.system(configured(f"{order.prompt}\n\n{_TO_WHOM}".strip())),
                ChatMessage.user(task),
            ),
            self.context,
            self.context.provenance,
            # Its drafts are not shown to the person
            replace(self.seams, on_text=so_far.say, hooks=so_far),
            order.model,
            deeper,
        )
        return NestedAnswer(outcome.text, outcome.provenance, outcome.source)


class _DelegateProgress(OwnerHooks):
    """Progress of another agent's turn, kept if its time ends; the owner's hooks apply."""

    def __init__(self, context: ToolContext, hooks: OwnerHooks) -> None:
        super().__init__()
        self._context = context
        self._inner = hooks
        self._read: deque[str] = deque(maxlen=MAX_READ)
        self._said = ""

    async def around(
        self, call: ToolCall, use: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        result = await self._inner.around(call, use)
        self._read.append(f"{call.name}: {result.text[:MAX_READ_CHARS]}")
        trust = self._context.provenance
        if result.provenance < trust:
            source = result.source or self._context.source
            self._context = replace(self._context, provenance=result.provenance, source=source)
        return result

    async def say(self, text: str, *_: object) -> None:
        self._said = text[-MAX_READ_CHARS:]

    def told(self, limit_s: float) -> NestedAnswer:
        text = "\n".join(filter(None, (*self._read, self._said)))
        return NestedAnswer(text, self._context.provenance, self._context.source, limit_s)


def _allowed(registry: Registry, names: Sequence[str]) -> Sequence[AnyTool]:
    """Return the asker's tools that the order names."""
    found = (registry.find(spec.name) for spec in registry.specs() if _is_meant(spec.name, names))
    return [tool for tool in found if tool is not None]


def _is_meant(tool: str, names: Sequence[str]) -> bool:
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in names)
