"""Series: a reading by its name, with its unit, as it is kept over the years."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeriesKind:
    """Description of a reading.

    Args:
        name: tank, climate.humidity, machine.temperature, or garden:tank of a further board.
        unit: of its values; empty where it has none.
        is_switch: it is on or off.
        is_board: the board says it, not this machine.
    """

    name: str
    unit: str = ""
    is_switch: bool = False
    is_board: bool = True


@dataclass(frozen=True, slots=True)
class Series:
    """A reading in the store; `cadence_s` is the time between two of its values."""

    id: int
    kind: SeriesKind
    cadence_s: int

    @property
    def name(self) -> str:
        return self.kind.name
