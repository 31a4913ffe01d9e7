"""Tool that tells the device's date and time."""

from datetime import datetime, tzinfo

from agent.messages import Effect, ToolResult
from agent.passage import Provenance, configured, fields, own
from agent.security.shares import NOTHING_PRIVATE
from agent.system.clock import Clock
from agent.tools.base import NoArguments, Tool, ToolContext

# Not from the locale: a model is told in one language
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class TimeNowTool(Tool[NoArguments]):
    """Returns date, time, weekday and time zone.

    Args:
        timezone: replaces the one that the device is set to.
    """

    reads = Provenance.OWNER
    name = "time_now"
    description = own("The current date, time and weekday.")
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(self, clock: Clock, timezone: tzinfo | None = None) -> None:
        self._clock = clock
        self._timezone = timezone

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        # Without a zone, astimezone takes the device's own, with the offset of that very moment
        now = datetime.fromtimestamp(self._clock.wall_s(), tz=self._timezone).astimezone(
            self._timezone
        )
        told = {
            "time": configured(now.isoformat(timespec="seconds")),
            "weekday": configured(_WEEKDAYS[now.weekday()]),
            "timezone": configured(now.tzname() or ""),
        }
        return ToolResult.done(fields(told))
