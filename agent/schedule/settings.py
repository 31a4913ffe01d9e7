"""The `[schedule]` section."""

from typing import Annotated

from msgspec import Meta

from agent.config import ConfigSection


class ScheduleSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the schedule."""

    # 0 is never; each look with something to do costs a turn
    heartbeat_minutes: Annotated[int, Meta(ge=0, le=1440)] = 30

    def __post_init__(self) -> None:
        if 0 < self.heartbeat_minutes < _LEAST_MINUTES:
            raise ValueError(f"heartbeat_minutes must be 0, or at least {_LEAST_MINUTES}")


# No job may run more often in a day
_LEAST_MINUTES = 15
