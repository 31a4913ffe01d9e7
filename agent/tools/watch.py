"""Tools for watches: add, list and remove them by chat.

The tools only say what is wanted; `Watches` keeps it and listens to the board.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from agent.errors import BadArguments
from agent.link.settings import WatchSettings
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, echo, fields, own
from agent.security.shares import NOTHING_PRIVATE, REHEARSED, households
from agent.tools.base import Arguments, Forecast, NoArguments, Tool, ToolContext
from agent.tools.foresight import Foresight
from agent.tools.timer import Language

_Name = Annotated[
    str,
    Meta(pattern=r"^[a-z][a-z0-9_]{0,31}\Z", description="a short name of your choice, dry_soil"),
]
_SETTINGS = tuple(field.name for field in msgspec.structs.fields(WatchSettings))


class Watches(Protocol):
    """Seam to the watches of a board."""

    async def add(self, name: str, wanted: WatchSettings, trust: Provenance) -> None:
        """Watch from now on, also after restarts; a watch of the same name is replaced.

        Args:
            trust: of the turn that wants it; what it says and asks is worth no more.

        Raises:
            BadArguments: there is nothing like that to watch, or no room.
        """

    async def foresee(self, name: str, wanted: WatchSettings, language: str) -> Forecast | None:
        """Return how often it would have told in the past; None where nothing is known of it.

        Raises:
            BadArguments: there is nothing like that to watch.
        """

    async def remove(self, name: str) -> bool:
        """Remove a watch; return true if it was there.

        Raises:
            BadArguments: it stands in the configuration.
        """

    @property
    def prefix(self) -> str:
        """Return the prefix of the tool names, for setups with several boards."""

    def listed(self) -> Sequence[Mapping[str, Fact]]:
        """Return each watch with its condition, and the reason if it cannot work."""


class WatchAddArguments(Arguments, frozen=True):
    """A new watch: at most one of above, below and becomes."""

    name: _Name
    pin: Annotated[
        str, Meta(max_length=64, description="a pin, climate.humidity, or mcu_temperature")
    ]
    above: float | None = None
    below: float | None = None
    becomes: Annotated[str, Meta(max_length=32, description="on or off")] = ""
    say: Annotated[
        str, Meta(max_length=500, description="told to the owner; {value} is replaced")
    ] = ""
    ask: Annotated[
        str,
        Meta(max_length=1000, description="instead of say: what you are to do then; {value}"),
    ] = ""
    at_most_per_hour: Annotated[int, Meta(ge=1, le=600)] = 6
    language: Language = "en"

    @property
    def settings(self) -> WatchSettings:
        """Return the watch; raise msgspec.ValidationError if it contradicts itself."""
        wanted = msgspec.structs.asdict(self)
        return msgspec.convert({key: wanted[key] for key in _SETTINGS}, WatchSettings)


class WatchNameArguments(Arguments, frozen=True):
    """Name of a watch."""

    name: _Name


class WatchAddTool(Tool[WatchAddArguments]):
    """Adds a watch: a reading that passes a limit or changes tells the owner or begins a turn."""

    reads = Provenance.WEB
    description = own(
        "Watch a reading of the board from now on: tell the owner, or do something, when it goes "
        "above or below a limit or becomes on or off. Without a limit every change counts."
    )
    effect = Effect.WRITE
    shown = REHEARSED
    arguments_type = WatchAddArguments

    def __init__(self, watches: Watches) -> None:
        self.name = f"{watches.prefix}watch_add"
        self._watches = watches
        self._foresight = Foresight(self._foreseen)

    async def foresee(self, arguments: WatchAddArguments) -> Forecast | None:
        return await self._foresight.asked(arguments)

    async def execute(self, arguments: WatchAddArguments, context: ToolContext) -> ToolResult:
        told = await self._foresight.told(arguments, context)
        try:
            await self._watches.add(arguments.name, arguments.settings, context.provenance)
        except msgspec.ValidationError as err:
            return ToolResult.failed(echo(str(err)))
        except BadArguments as err:
            return ToolResult.failed(err.words(self.reads))
        return ToolResult.done(fields({"watching": echo(arguments.name), **told}))

    async def _foreseen(self, arguments: WatchAddArguments) -> Forecast | None:
        try:
            settings = arguments.settings
        except msgspec.ValidationError:
            # The call says what is wrong
            return None
        return await self._watches.foresee(arguments.name, settings, arguments.language)


class WatchListTool(Tool[NoArguments]):
    """Lists the watches."""

    reads = Provenance.WEB
    description = own("What is being watched for the owner, and what keeps it from being watched.")
    effect = Effect.READ
    shown = households("what is watched")
    arguments_type = NoArguments

    def __init__(self, watches: Watches) -> None:
        self.name = f"{watches.prefix}watch_list"
        self._watches = watches

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return ToolResult.done(fields({"watches": self._watches.listed()}))


class WatchRemoveTool(Tool[WatchNameArguments]):
    """Removes a watch."""

    reads = Provenance.WEB
    description = own("Stop a watch by its name.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = WatchNameArguments

    def __init__(self, watches: Watches) -> None:
        self.name = f"{watches.prefix}watch_remove"
        self._watches = watches

    async def execute(self, arguments: WatchNameArguments, context: ToolContext) -> ToolResult:
        try:
            removed = await self._watches.remove(arguments.name)
        except BadArguments as err:
            return ToolResult.failed(err.words(self.reads))
        name = echo(arguments.name)
        if not removed:
            return ToolResult.failed(own("there is no watch '{}'", name))
        return ToolResult.done(fields({"removed": name}))
