"""Seam to what learns from finished turns."""

from typing import TYPE_CHECKING, Protocol

from agent.messages import Inbound

if TYPE_CHECKING:
    from agent.turn.outcome import TurnOutcome


class Learner(Protocol):
    """Is told of every message and of every answer; raises nothing."""

    async def heard(self, message: Inbound) -> None:
        """A message is going to be answered."""

    async def turn_ended(self, message: Inbound, outcome: "TurnOutcome") -> None:
        """The answer is kept, and does not wait for what is learnt."""

    async def settle(self) -> None:
        """Wait for what is being learnt."""


class NoLearner:
    """Learns nothing."""

    async def heard(self, message: Inbound) -> None:
        """Correct nothing."""

    async def turn_ended(self, message: Inbound, outcome: "TurnOutcome") -> None:
        """Learn nothing."""

    async def settle(self) -> None:
        """Return at once."""
