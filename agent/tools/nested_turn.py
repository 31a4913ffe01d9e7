"""Seam to run another agent's turn inside this one.

The surrounding turn provides the runner; a tool has no rights of its own to pass on.
"""

from typing import Protocol

from msgspec import Struct

from agent.messages import Provenance


class NestedOrder(Struct, frozen=True):
    """Task for another agent.

    Args:
        prompt: describes the agent to itself.
        tools: names; a final `*` matches any ending; tools that the asker lacks are left out.
        model: None for the configured one.
        timeout_s: it is broken off then at the latest, and what it had is told.
    """

    agent: str
    prompt: str
    task: str
    tools: tuple[str, ...] = ()
    model: str | None = None
    max_iterations: int = 1
    timeout_s: float = 120.0


class NestedAnswer(Struct, frozen=True):
    """Answer of another agent.

    Args:
        text: partial output if the turn was cancelled.
        provenance: lowest trust that the turn has read.
        source: origin of the least trusted text.
        cut_after_s: the time after which it was broken off; None if it is whole.
    """

    text: str
    provenance: Provenance
    source: str
    cut_after_s: float | None = None


class NestedTurn(Protocol):
    """Runs a turn of another agent inside this one: same gate, same owner, same limits."""

    async def __call__(self, order: NestedOrder) -> NestedAnswer:
        """Run the order; raise DelegationRefused if it is too deep or too frequent."""
