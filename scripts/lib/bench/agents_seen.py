"""Deeds of a crowd of agents, and what is wrong afterwards."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.memory.base import MemoryEntry

# Of the statement that contradicts the one before it
_OPEN_TRUTHS = "spare key"


@dataclass(slots=True)
class Seen:
    """Deeds of a crowd, and what is wrong afterwards."""

    calls: int = 0
    kept: int = 0
    forgotten: int = 0
    deaths: int = 0
    connections: int = 0
    slowest_s: float = 0.0
    recalls_s: list[float] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    returned: int = 0
    leaked: int = 0
    missed: int = 0
    unsettled: int = 0
    deadlocks: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        wrong = (self.lost, self.doubled, self.returned, self.leaked, self.missed)
        return not (any(wrong) or self.unsettled or self.deadlocks or self.errors)

    def text(self) -> str:
        errors = f" ({self.errors[0]})" if self.errors else ""
        return (
            f"{self.lost} lost, {self.doubled} doubled, {self.returned} returned,"
            f" {self.leaked} seen by others, {self.missed} not recalled, {self.unsettled} people"
            f" with two truths, {self.deadlocks} deadlocks, {len(self.errors)} errors{errors};"
            f" at most {self.connections} connections"
        )

    def judge(self, kept: set[str], forgotten: set[str], entries: Sequence[MemoryEntry]) -> None:
        """Count what is not as the agents were told."""
        there = {entry.key for entry in entries}
        contents = Counter((entry.scope.owner, entry.content) for entry in entries)
        self.kept, self.forgotten = len(kept), len(forgotten)
        self.lost = len(kept - there)
        self.returned = len(forgotten & there)
        self.doubled = sum(number - 1 for number in contents.values())
        truths = Counter(
            entry.scope.owner
            for entry in entries
            if _OPEN_TRUTHS in entry.content and entry.superseded_by is None
        )
        self.unsettled = sum(number != 1 for number in truths.values())
