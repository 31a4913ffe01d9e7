"""Tool for reminders: say or do something at a time, once or repeatedly."""

from collections.abc import Mapping
from typing import Annotated, Protocol

from msgspec import Meta

from agent.messages import Effect
from agent.passage import Fact, own
from agent.tools.base import Arguments, FieldsTool, Forecast, ToolContext
from agent.tools.foresight import Foresight
from agent.tools.timer import Language, Order, Seconds

_MAX_TEXT_CHARS = 500


class ReminderSetArguments(Arguments, frozen=True):
    """A reminder: one of in_seconds, at and every, and either a text or an order."""

    text: Annotated[str, Meta(max_length=_MAX_TEXT_CHARS, description="what they are told")] = ""
    order: Order = ""
    in_seconds: Seconds | None = None
    at: Annotated[
        str, Meta(max_length=40, description="08:00, tomorrow 08:00, monday 08:00, or a date")
    ] = ""
    every: Annotated[
        str, Meta(max_length=40, description="day 07:00, weekday 07:00, monday 07:00, 30 minutes")
    ] = ""
    language: Language = "en"


class Reminders(Protocol):
    """Seam that keeps reminders over restarts."""

    async def remind(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        """Keep a reminder and return its first time; raise BadArguments for an invalid one."""

    async def foresee(self, wanted: ReminderSetArguments) -> Forecast | None:
        """Return what an order would have done in the past; None where there is nothing to tell."""


class ReminderSetTool(FieldsTool[ReminderSetArguments]):
    """Sets a reminder."""

    name = "reminder_set"
    description = own(
        "Remind this person of something, or do something, after a time, at a time, or again and "
        "again. cron_list shows what comes at a time, timer_list what comes after one."
    )
    effect = Effect.WRITE
    arguments_type = ReminderSetArguments

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders
        self._foresight = Foresight(self._foreseen)

    async def foresee(self, arguments: ReminderSetArguments) -> Forecast | None:
        return await self._foresight.asked(arguments)

    async def _foreseen(self, arguments: ReminderSetArguments) -> Forecast | None:
        return await self._reminders.foresee(arguments)

    async def _fields_of(
        self, arguments: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        told = await self._foresight.told(arguments, context)
        kept = await self._reminders.remind(arguments, context)
        return {"reminder": {**kept, **told}}
