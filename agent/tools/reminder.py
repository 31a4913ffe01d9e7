"""Reminders by chat: something that is said, or done, at a time or again and again."""

from collections.abc import Mapping
from typing import Annotated, Protocol

from msgspec import Meta

from agent.errors import BadArguments
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, fields, own
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.timer import Language, Order, Seconds

_MAX_TEXT_CHARS = 500


class ReminderSetArguments(Arguments, frozen=True):
    """One of in_seconds, at and every; either a text or an order."""

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
    """Keeps reminders over restarts."""

    async def remind(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        """Keep one, and return when it comes first; raises BadArguments for what makes no sense."""


class ReminderSetTool(Tool[ReminderSetArguments]):
    """Remind a person of something, or do something later."""

    # Its refusals name times and jobs of whoever set them
    reads = Provenance.WEB
    name = "reminder_set"
    description = own(
        "Remind this person of something, or do something, after a time, at a time, or again and "
        "again. cron_list shows what comes at a time, timer_list what comes after one."
    )
    effect = Effect.WRITE
    arguments_type = ReminderSetArguments

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    async def execute(self, arguments: ReminderSetArguments, context: ToolContext) -> ToolResult:
        try:
            told = await self._reminders.remind(arguments, context)
        except BadArguments as err:
            return ToolResult.failed(err.words(self.reads))
        return ToolResult.done(fields({"reminder": told}))
