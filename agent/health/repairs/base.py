"""Base of every repair: it touches only what is the agent's own, and says what it did."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from agent.health.base import Patient


class RepairResult(Struct, frozen=True):
    """Deed of a repair, or a sentence about what prevents it."""

    sentence: str
    is_done: bool = True


# Does nothing, and says nothing, where nothing is wrong
Repair = Callable[[Patient], Awaitable[list[RepairResult]]]


def as_root(folder: Path) -> str:
    """Return the command that repairs the folder as root."""
    return f"`sudo barnacle doctor --fix --state-dir {folder}`"
