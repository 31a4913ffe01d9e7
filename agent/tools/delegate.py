"""Tool that hands a task to another agent of the owner's configuration.

The turn that runs it decides its rights; the tool gives the order and the time limit.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from agent.messages import Effect, ToolResult
from agent.passage import Provenance, configured, fields, outside, own
from agent.security.shares import PASSED_ON
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.choice import one_of
from agent.tools.nested_turn import NestedOrder
from agent.tools.settings import DelegateSettings

# Shorter than a turn: time is left to report a failure
DELEGATE_TIMEOUT_S = 120.0
MAX_TASK_CHARS = 8000


class DelegateTool(Tool[Arguments]):
    """Hands a task to another agent and returns its answer."""

    reads = Provenance.WEB
    name = "delegate"
    description = own("Have another agent do a task by itself; it knows only what the task says.")
    # Each call of the other agent passes the gate itself
    effect = Effect.READ
    shown = PASSED_ON

    def __init__(
        self, agents: Mapping[str, DelegateSettings], timeout_s: float = DELEGATE_TIMEOUT_S
    ) -> None:
        self._agents = agents
        self._timeout_s = timeout_s
        self.arguments_type = _arguments(agents)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        values = msgspec.structs.asdict(arguments)
        name, agent = values["agent"], self._agents[values["agent"]]
        if context.nested is None:
            return ToolResult.failed(own("no other agent is available here"))
        order = NestedOrder(
            name,
            agent.prompt or f"You are {name}.",
            values["task"],
            agent.tools,
            agent.model or None,
            agent.max_iterations,
            self._timeout_s,
        )
        told = await context.nested(order)
        whom, answer = configured(name), outside(told.text, told.provenance, told.source)
        if told.cut_after_s is None:
            return ToolResult.done(fields({"agent": whom, "answer": answer}))
        limit_s = round(told.cut_after_s, 2)
        late = "{} did not finish within {} s; part of the task may be done"
        if not told.text:
            return ToolResult.failed(own(late, whom, limit_s).below(told.provenance))
        had = own("{}. Its output so far:\n{}", own(late, whom, limit_s), answer)
        return ToolResult.failed(had)


def _arguments(agents: Mapping[str, DelegateSettings]) -> type[Arguments]:
    task = Annotated[
        str,
        Meta(
            description="All that it has to know",
            min_length=1,
            max_length=MAX_TASK_CHARS,
        ),
    ]
    names: Any = one_of(
        {name: (agent.about,) if agent.about else () for name, agent in agents.items()}
    )
    fields = [("agent", names), ("task", task)]
    made = msgspec.defstruct("delegate_arguments", fields, bases=(Arguments,), frozen=True)
    return cast("type[Arguments]", made)
