"""Jobs by chat: what is to be done or said at a time, which there are, and no more of one.

The tools only say what is wanted; `Jobs` keeps it, and what a job then does passes the gate.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol, TypeVar

from msgspec import Meta

from agent.errors import BadArguments
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Passage, Provenance, echo, fields, own
from agent.security.shares import NOTHING_PRIVATE, Disclosure
from agent.tools.base import AnyTool, Arguments, NoArguments, Tool, ToolContext

_Name = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}\Z", description="a short name of your choice")
]
_MAX_CHARS = 2000


class CronAddArguments(Arguments, frozen=True):
    """One of cron, at and every_minutes; either a prompt or a message."""

    name: _Name
    cron: Annotated[str, Meta(max_length=100, description="local time, 30 7 * * 1-5")] = ""
    at: Annotated[str, Meta(max_length=40, description="once, 2026-11-22T08:00")] = ""
    every_minutes: Annotated[int, Meta(ge=0, le=527040)] = 0
    prompt: Annotated[str, Meta(max_length=_MAX_CHARS, description="what you are to do then")] = ""
    message: Annotated[str, Meta(max_length=_MAX_CHARS, description="told as it is")] = ""


class CronNameArguments(Arguments, frozen=True):
    """Which job."""

    name: _Name


class CronPauseArguments(CronNameArguments, frozen=True):
    """Which job, and whether it goes on instead."""

    resume: bool = False


class Jobs(Protocol):
    """A person's jobs, everybody's for the owner.

    All of these raise BadArguments for what is not there or makes no sense.
    """

    async def add(self, wanted: CronAddArguments, context: ToolContext) -> Passage:
        """When it runs first, in words; it is delivered where the context's conversation is."""

    async def listed(self, person: str) -> Sequence[Mapping[str, Fact]]:
        """Each as little trusted as the turn that ordered it."""

    async def remove(self, name: str, person: str) -> None: ...

    async def run(self, name: str, person: str) -> None:
        """Once, as soon as it is looked at."""

    async def pause(self, name: str, person: str, *, is_paused: bool) -> None: ...


A = TypeVar("A", bound=Arguments)


class _CronTool(Tool[A]):
    """What the tools of jobs have in common: a refusal is a result, and so is what came of it."""

    reads = Provenance.WEB
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def execute(self, arguments: A, context: ToolContext) -> ToolResult:
        try:
            told = await self._told(arguments, context)
        except BadArguments as err:
            return ToolResult.failed(err.words(self.reads))
        return ToolResult.done(fields(told))

    @abstractmethod
    async def _told(self, arguments: A, context: ToolContext) -> Mapping[str, Fact]:
        """Do it, and say what was done."""


class CronAddTool(_CronTool[CronAddArguments]):
    """Do or say something at a time."""

    name = "cron_add"
    description = own("Do something, or tell this person something, at a time or again and again.")
    arguments_type = CronAddArguments

    async def _told(self, arguments: CronAddArguments, context: ToolContext) -> Mapping[str, Fact]:
        return {"job": echo(arguments.name), "first": await self._jobs.add(arguments, context)}


class CronListTool(_CronTool[NoArguments]):
    """Which jobs there are."""

    name = "cron_list"
    description = own("The jobs, when each runs, and what came of it last.")
    effect = Effect.READ
    shown = Disclosure(of_asker="jobs")
    arguments_type = NoArguments

    async def _told(self, arguments: NoArguments, context: ToolContext) -> Mapping[str, Fact]:
        return {"jobs": await self._jobs.listed(context.person)}


class CronRemoveTool(_CronTool[CronNameArguments]):
    """Have a job no more."""

    name = "cron_remove"
    description = own("Remove a job by its name.")
    arguments_type = CronNameArguments

    async def _told(self, arguments: CronNameArguments, context: ToolContext) -> Mapping[str, Fact]:
        await self._jobs.remove(arguments.name, context.person)
        return {"removed": echo(arguments.name)}


class CronRunTool(_CronTool[CronNameArguments]):
    """Run a job now."""

    name = "cron_run"
    description = own("Run a job once, now, whatever its time is.")
    arguments_type = CronNameArguments

    async def _told(self, arguments: CronNameArguments, context: ToolContext) -> Mapping[str, Fact]:
        await self._jobs.run(arguments.name, context.person)
        return {"running": echo(arguments.name)}


class CronPauseTool(_CronTool[CronPauseArguments]):
    """Have a job wait until it is resumed."""

    name = "cron_pause"
    description = own("Pause a job by its name, or have it go on.")
    arguments_type = CronPauseArguments

    async def _told(
        self, arguments: CronPauseArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        paused = not arguments.resume
        await self._jobs.pause(arguments.name, context.person, is_paused=paused)
        return {"paused" if paused else "resumed": echo(arguments.name)}


def cron_tools(jobs: Jobs) -> list[AnyTool]:
    kinds = (CronAddTool, CronListTool, CronPauseTool, CronRemoveTool, CronRunTool)
    return [kind(jobs) for kind in kinds]
