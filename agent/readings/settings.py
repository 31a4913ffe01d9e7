"""The `[readings]` section: how often each reading is recorded, and how long it is kept."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import ConfigSection

Cadence = Literal["10s", "1m", "off"]
CADENCES_S = {"10s": 10, "1m": 60, "off": 0}


class ReadingsSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the record of readings."""

    # Of every reading that is not named below; "off" records nothing
    record: Cadence = "1m"
    # By the name of a reading: tank, "climate.humidity", "machine.temperature"
    channels: dict[str, Cadence] = msgspec.field(default_factory=dict)
    # As long as each minute is kept; quarters of an hour are kept for three years
    days: Annotated[int, Meta(ge=2, le=3660)] = 60

    # Name of this agent among those that share the server of the postgres brain; empty: one that is
    # made of this machine's name. A new card with this name goes on with the old one's readings
    agent: Annotated[
        str,
        Meta(
            max_length=64,
            pattern=r"^[A-Za-z0-9._-]*\Z",
            description="letters, digits, dots, underscores and hyphens",
        ),
    ] = ""

    # How often something may be called unusual that is not, of all sensors of boards together; 0
    # notices nothing
    false_alarms_per_week: Annotated[float, Meta(ge=0, le=100)] = 1.0

    def cadence_s(self, name: str) -> int:
        """Return the seconds between two values; 0 where the reading is not recorded."""
        return CADENCES_S[self.channels.get(name, self.record)]
