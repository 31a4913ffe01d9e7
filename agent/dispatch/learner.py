"""Seam to what learns from finished turns."""

from typing import Protocol

from agent.dispatch.outcome import TurnOutcome
from agent.messages import Inbound


class Learner(Protocol):
    """Is told of every message and of every answer; raises nothing."""

    async def heard(self, inbound: Inbound) -> None:
        """A message is going to be answered."""

    async def turn_ended(self, inbound: Inbound, outcome: TurnOutcome) -> None:
        """The answer is kept."""
