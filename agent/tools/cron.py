"""Tools for scheduled jobs: add, list, run, pause and remove them by chat.

The tools only say what is wanted; `Jobs` keeps it, and what a job then does passes the gate.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol, TypeVar

from msgspec import Meta

from agent.messages import Effect
from agent.passage import Fact, Passage, echo, own
from agent.security.shares import NOTHING_PRIVATE, REHEARSED, Disclosure
from agent.tools.base import AnyTool, Arguments, FieldsTool, Forecast, NoArguments, ToolContext
from agent.tools.foresight import Foresight

_Name = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}\Z", description="a short name of your choice")
]
_MAX_CHARS = 2000


class CronAddArguments(Arguments, frozen=True):
    """A new job: one of cron, at and every_minutes, and either a prompt or a message."""

    name: _Name
    cron: Annotated[str, Meta(max_length=100, description="local time, 30 7 * * 1-5")] = ""
    at: Annotated[str, Meta(max_length=40, description="once, 2026-11-22T08:00")] = ""
    every_minutes: Annotated[int, Meta(ge=0, le=527040)] = 0
    prompt: Annotated[str, Meta(max_length=_MAX_CHARS, description="what you are to do then")] = ""
    message: Annotated[str, Meta(max_length=_MAX_CHARS, description="told as it is")] = ""


class CronNameArguments(Arguments, frozen=True):
    """Name of a job."""

    name: _Name


class CronPauseArguments(CronNameArguments, frozen=True):
    """Name of a job to pause or resume."""

    resume: bool = False


class Jobs(Protocol):
    """Seam to the jobs of a person; the owner reaches everybody's.

    All of these raise BadArguments for what is not there or makes no sense.
    """

    async def add(self, wanted: CronAddArguments, context: ToolContext) -> Passage:
        """Add a job for the context's conversation; return its first time in words."""

    async def foresee(self, wanted: CronAddArguments) -> Forecast | None:
        """Return what it would have done in the past; None where it only says something."""

    async def listed(self, person: str) -> Sequence[Mapping[str, Fact]]:
        """Return the person's jobs, each with the trust of the turn that ordered it."""

    async def remove(self, name: str, person: str) -> None: ...

    async def run(self, name: str, person: str) -> None:
        """Run the job once, at the next look."""

    async def pause(self, name: str, person: str, *, is_paused: bool) -> None: ...


A = TypeVar("A", bound=Arguments)


class _CronTool(FieldsTool[A]):
    """Base of the job tools."""

    effect = Effect.WRITE
    shown = NOTHING_PRIVATE

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs


class CronAddTool(_CronTool[CronAddArguments]):
    """Adds a job."""

    name = "cron_add"
    description = own("Do something, or tell this person something, at a time or again and again.")
    arguments_type = CronAddArguments

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(jobs)
        self._foresight = Foresight(self._foreseen)

    def shows(self, arguments: CronAddArguments) -> Disclosure:
        return REHEARSED if arguments.prompt.strip() else self.shown

    async def foresee(self, arguments: CronAddArguments) -> Forecast | None:
        return await self._foresight.asked(arguments)

    async def _foreseen(self, arguments: CronAddArguments) -> Forecast | None:
        return await self._jobs.foresee(arguments)

    async def _fields_of(
        self, arguments: CronAddArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        told = await self._foresight.told(arguments, context)
        first = await self._jobs.add(arguments, context)
        return {"job": echo(arguments.name), "first": first, **told}


class CronListTool(_CronTool[NoArguments]):
    """Lists the jobs."""

    name = "cron_list"
    description = own("The jobs, when each runs, and what came of it last.")
    effect = Effect.READ
    shown = Disclosure(of_asker="jobs")
    arguments_type = NoArguments

    async def _fields_of(self, arguments: NoArguments, context: ToolContext) -> Mapping[str, Fact]:
        return {"jobs": await self._jobs.listed(context.person)}


class CronRemoveTool(_CronTool[CronNameArguments]):
    """Removes a job."""

    name = "cron_remove"
    description = own("Remove a job by its name.")
    arguments_type = CronNameArguments

    async def _fields_of(
        self, arguments: CronNameArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        await self._jobs.remove(arguments.name, context.person)
        return {"removed": echo(arguments.name)}


class CronRunTool(_CronTool[CronNameArguments]):
    """Runs a job now."""

    name = "cron_run"
    description = own("Run a job once, now, whatever its time is.")
    arguments_type = CronNameArguments

    async def _fields_of(
        self, arguments: CronNameArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        await self._jobs.run(arguments.name, context.person)
        return {"running": echo(arguments.name)}


class CronPauseTool(_CronTool[CronPauseArguments]):
    """Pauses or resumes a job."""

    name = "cron_pause"
    description = own("Pause a job by its name, or have it go on.")
    arguments_type = CronPauseArguments

    async def _fields_of(
        self, arguments: CronPauseArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        paused = not arguments.resume
        await self._jobs.pause(arguments.name, context.person, is_paused=paused)
        return {"paused" if paused else "resumed": echo(arguments.name)}


def cron_tools(jobs: Jobs) -> list[AnyTool]:
    kinds = (CronAddTool, CronListTool, CronPauseTool, CronRemoveTool, CronRunTool)
    return [kind(jobs) for kind in kinds]
