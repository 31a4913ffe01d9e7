"""Findings of a campaign of frames."""

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Findings:
    """Counts of one campaign; everything in the second group should be 0."""

    frames: int = 0
    sessions: int = 0
    # By the board's own count: sound frames of the session, and pieces that were none
    accepted: int = 0
    dropped: int = 0
    # Sound requests that switch a pin, how many of them the board ran, and changes of a pin
    writes_sent: int = 0
    writes_ran: int = 0
    changes: int = 0
    # Requests about updates and rules that ran, and what rules did
    updates_ran: int = 0
    reflexes_ran: int = 0
    ruled: int = 0

    unintended: int = 0
    faults: int = 0
    silences: int = 0
    late: int = 0
    # A machine so busy that the board heard nothing for half a second, and let go of the lamp
    unheard: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.unintended or self.faults or self.silences)

    def add(self, other: "Findings") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
