"""The `[schedule]` section: what the agent does by itself at times."""

from typing import Annotated

from msgspec import Meta

from agent.config import Section


class ScheduleSettings(Section, frozen=True, kw_only=True):
    """How often HEARTBEAT.md is looked at."""

    # 0 is never; each look with something to do costs a turn
    heartbeat_minutes: Annotated[int, Meta(ge=0, le=1440)] = 30

    def __post_init__(self) -> None:
        if 0 < self.heartbeat_minutes < _LEAST_MINUTES:
            raise ValueError(f"heartbeat_minutes is 0, or at least {_LEAST_MINUTES}")


# No job may run more often in a day
_LEAST_MINUTES = 15
