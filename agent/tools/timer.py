"""Tools for timers: start, list, change, pause, resume and cancel them by chat.

The tools only say what is wanted; `Timers` keeps it. What a timer says at its end is a sentence of
ours, so it needs no model; what it does then passes the gate like every order.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol, TypeVar

from msgspec import Meta

from agent.messages import Effect
from agent.passage import Fact, own
from agent.tools.base import AnyTool, Arguments, FieldsTool, ToolContext

# A week; whoever keeps the timers has the same limits
_MAX_SECONDS = 7 * 24 * 3600
_MAX_NAME_CHARS = 40
_MAX_TEXT_CHARS = 500
Language = Annotated[str, Meta(max_length=8, description="of what is said then, such as de")]
Order = Annotated[
    str, Meta(max_length=_MAX_TEXT_CHARS, description="what you are to do then, in words")
]
Seconds = Annotated[float, Meta(ge=1, le=_MAX_SECONDS)]
_Name = Annotated[str, Meta(max_length=_MAX_NAME_CHARS)]


class TimerStartArguments(Arguments, frozen=True):
    """Length of a timer, and its purpose."""

    seconds: Seconds
    name: _Name = ""
    order: Order = ""
    language: Language = "en"


class WhichTimer(Arguments, frozen=True):
    """Description of a timer; not needed if there is only one."""

    name: _Name = ""
    number: Annotated[int, Meta(ge=0, le=999, description="its place in timer_list")] = 0
    set_for_seconds: Annotated[
        float, Meta(ge=0, le=_MAX_SECONDS, description="the one that was set for so long")
    ] = 0
    reminder: Annotated[bool, Meta(description="of those that remind of something")] = False


class TimerChangeArguments(WhichTimer, frozen=True):
    """Change of a timer: more or less time, or a pause."""

    add_seconds: Annotated[
        float, Meta(ge=-_MAX_SECONDS, le=_MAX_SECONDS, description="below 0: take away")
    ] = 0
    state: Literal["", "paused", "running"] = ""


class TimerCancelArguments(WhichTimer, frozen=True):
    """Description of a timer, or of all that match it."""

    all: bool = False


class Timers(Protocol):
    """Seam to a person's timers; the owner also finds those of others.

    All of these raise BadArguments for what is not there or makes no sense. The words of a timer
    are as little trusted as the turn that set it.
    """

    async def start(
        self, wanted: TimerStartArguments, context: ToolContext
    ) -> Mapping[str, Fact]: ...

    async def listed(
        self, which: WhichTimer, context: ToolContext
    ) -> Sequence[Mapping[str, Fact]]: ...

    async def change(
        self, wanted: TimerChangeArguments, context: ToolContext
    ) -> Mapping[str, Fact]: ...

    async def cancel(
        self, wanted: TimerCancelArguments, context: ToolContext
    ) -> Sequence[Mapping[str, Fact]]: ...


A = TypeVar("A", bound=Arguments)


class _TimerTool(FieldsTool[A]):
    """Base of the timer tools."""

    effect = Effect.WRITE

    def __init__(self, timers: Timers) -> None:
        self._timers = timers


class TimerStartTool(_TimerTool[TimerStartArguments]):
    """Starts a timer."""

    name = "timer_start"
    description = own(
        "Set a timer for this person: at its end they are told, or `order` is done. For how long "
        "an output is on, use for_seconds of the tool that switches it."
    )
    arguments_type = TimerStartArguments

    async def _fields_of(
        self, arguments: TimerStartArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        return {"started": await self._timers.start(arguments, context)}


class TimerListTool(_TimerTool[WhichTimer]):
    """Lists the timers and their remaining times."""

    name = "timer_list"
    description = own("This person's timers and how long is left of each; of all, or of one.")
    effect = Effect.READ
    arguments_type = WhichTimer

    async def _fields_of(self, arguments: WhichTimer, context: ToolContext) -> Mapping[str, Fact]:
        key = "reminders" if arguments.reminder else "timers"
        return {key: list(await self._timers.listed(arguments, context))}


class TimerChangeTool(_TimerTool[TimerChangeArguments]):
    """Changes, pauses or resumes a timer."""

    name = "timer_change"
    description = own("Add time to a timer, take some away, pause it or let it go on.")
    arguments_type = TimerChangeArguments

    async def _fields_of(
        self, arguments: TimerChangeArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        return {"changed": await self._timers.change(arguments, context)}


class TimerCancelTool(_TimerTool[TimerCancelArguments]):
    """Cancels one timer or several."""

    name = "timer_cancel"
    description = own("Cancel one of this person's timers, or all of them.")
    arguments_type = TimerCancelArguments

    async def _fields_of(
        self, arguments: TimerCancelArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        return {"cancelled": list(await self._timers.cancel(arguments, context))}


def timer_tools(timers: Timers) -> list[AnyTool]:
    kinds = (TimerCancelTool, TimerChangeTool, TimerListTool, TimerStartTool)
    return [kind(timers) for kind in kinds]
