"""Base of every sense: it judges the readings and says a sentence while they matter."""

from dataclasses import dataclass
from typing import Protocol

from agent.machine.readings import Readings

# Most of it changes slowly, and files of the kernel cost next to nothing
USUAL_EVERY_S = 30.0


class SenseJudge(Protocol):
    """Looks at the readings."""

    def __call__(self, readings: Readings, *, is_on: bool) -> str | None:
        """Return a sentence while there is a trouble, "" if there is none, None if unknown.

        Args:
            is_on: whether it mattered at the last look: the limit back may be another one.
        """


@dataclass(frozen=True, slots=True)
class Sense:
    """One thing that is watched.

    Args:
        looks: so many in a row have to be bad before it is believed.
        every_s: between two looks, where somebody tells.
    """

    name: str
    judge: SenseJudge
    looks: int = 1
    every_s: float = USUAL_EVERY_S
