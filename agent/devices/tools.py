"""Tools of one other device: its lent pins and inputs as tools of its boards, and its readings.

They look as the tools of a board of one's own do, so that they are understood with a model and
without. What the other device says is trusted as a sensor is; the names that the owner wrote here,
and those of our firmware, are the owner's.
"""

import json
from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
from msgspec import Meta

from agent.devices.caller import DeviceCaller, KnownBoard
from agent.devices.wire import DeviceReply, Outcome
from agent.errors import LinkLost, OutcomeUnknown
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Passage, Provenance, configured, fields, outside, own
from agent.security.shares import READINGS
from agent.tools.base import A, AnyTool, Arguments, NoArguments, Tool, ToolContext
from agent.tools.board import BoardTool
from agent.tools.board_words import is_own_word

if TYPE_CHECKING:
    from agent.link.base import Board

_MAX_NAME_CHARS = 64


class _FarBoard(msgspec.Struct, frozen=True):
    """Name of a far board among the tools; everything else of it is asked for over the way."""

    name: str


class DeviceTools:
    """Tools of one other device; they follow its newest offer.

    Args:
        named: names of its pins that the owner wrote in this device's configuration.
    """

    def __init__(self, caller: DeviceCaller, named: Collection[str]) -> None:
        self._caller = caller
        self._named = frozenset(named)
        self._tools: tuple[AnyTool, ...] = (DeviceInfoTool(caller),)

    def tools(self) -> tuple[AnyTool, ...]:
        """Return the tools; they stay while the device is away."""
        return self._tools

    def follow(self) -> None:
        """Make the tools of the newest offer."""
        known = self._caller.greeting
        made: list[AnyTool] = [DeviceInfoTool(self._caller)]
        for board in known.boards if known else ():
            for method in board.manifest.methods:
                kinds = [field.pins for field in method.arguments if field.pins]
                if all(board.manifest.pins_that_can(kind) for kind in kinds):
                    made.append(DeviceTool(self._caller, board, method.name, self._named))
        if known is not None and known.has_readings:
            made.append(DeviceReadingsTool(self._caller))
        self._tools = tuple(made)


class DeviceTool(BoardTool):
    """One method of a far board, called through the far device's gate."""

    def __init__(
        self, caller: DeviceCaller, board: KnownBoard, method: str, named: Collection[str]
    ) -> None:
        found = board.manifest.method(method)
        assert found is not None
        # The usual name says nothing: a pump of the greenhouse, not of the greenhouse's board
        shown = caller.name if board.name == "board" else f"{caller.name}_{board.name}"
        far = cast("Board", _FarBoard(shown))
        super().__init__(far, board.manifest, found, named=named)
        self._caller = caller
        self._far_name = f"{board.name}_{method}"
        self._spoken = named

    def in_words(self, arguments: Arguments) -> str:
        values = msgspec.structs.asdict(arguments)
        said = ", ".join(f"{name} {value}" for name, value in values.items() if value != 0)
        return f"{self._method.name} on {self._caller.name} ({said})"

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        said = msgspec.json.encode(arguments).decode()
        try:
            if self.effect is Effect.READ:
                reply = await self._caller.look(self._far_name, said)
            else:
                words = self.in_words(arguments)
                is_relayed = context.provenance < Provenance.USER
                reply = await self._caller.act(self._far_name, said, words, is_relayed=is_relayed)
        except LinkLost as err:
            why = err.words(self.reads, self._source)
            return ToolResult.failed(own("nothing was done: {}", why))
        except OutcomeUnknown as err:
            why = err.words(self.reads, self._source)
            return ToolResult.failed(
                own("{}. It is not repeated; the owner is told when it is known", why)
            )
        return result_of(reply, self._caller.name, self._spoken)


class _DeviceLook(Tool[A]):
    """Look at another device, as its readings are shown; one that is away says so."""

    reads = Provenance.SENSOR
    effect = Effect.READ
    shown = READINGS

    def __init__(self, caller: DeviceCaller, kind: str, description: Passage) -> None:
        self._caller = caller
        self.name = f"{caller.name}_{kind}"
        self.description = description

    async def execute(self, arguments: A, context: ToolContext) -> ToolResult:
        del context
        try:
            return await self.look(arguments)
        except LinkLost as err:
            return ToolResult.failed(err.words(self.reads, self._caller.name))

    @abstractmethod
    async def look(self, arguments: A) -> ToolResult:
        """Return what is seen.

        Raises:
            LinkLost: the device is away.
        """


class DeviceInfoTool(_DeviceLook[NoArguments]):
    """Describes another device, also while it is away."""

    arguments_type = NoArguments

    def __init__(self, caller: DeviceCaller) -> None:
        about = own(
            "State of the device {}, which is another one of the owner's, and its lent pins.",
            configured(caller.name),
        )
        super().__init__(caller, "info", about)

    async def look(self, arguments: NoArguments) -> ToolResult:
        del arguments
        known = await self._caller.greet()
        source = f"device:{self._caller.name}"
        boards: Fact = [
            {
                "name": outside(board.name, self.reads, source),
                "is_there": board.is_there,
                "pins": [outside(pin.name, self.reads, source) for pin in board.manifest.pins],
            }
            for board in known.boards
        ]
        told = {"device": configured(self._caller.name), "boards": boards}
        return ToolResult.done(fields(told))


class ReadingArguments(Arguments, frozen=True):
    """Reading to look at; without a name the list of them."""

    reading: Annotated[
        str, Meta(max_length=_MAX_NAME_CHARS, description="its name; empty lists them")
    ] = ""
    hours: Annotated[float, Meta(gt=0, le=24 * 366)] = 24


class DeviceReadingsTool(_DeviceLook[ReadingArguments]):
    """Recorded readings of another device."""

    arguments_type = ReadingArguments

    def __init__(self, caller: DeviceCaller) -> None:
        about = own(
            "Recorded readings of {}, such as temperatures: the list, or one over the last hours.",
            configured(caller.name),
        )
        super().__init__(caller, "readings", about)

    async def look(self, arguments: ReadingArguments) -> ToolResult:
        tool, said = "readings_list", "{}"
        if arguments.reading:
            tool = "readings_query"
            said = json.dumps({"reading": arguments.reading, "hours": arguments.hours})
        return result_of(await self._caller.look(tool, said), self._caller.name, ())


def result_of(reply: DeviceReply, device: str, named: Collection[str]) -> ToolResult:
    """Return the result as a tool of a board of one's own would."""
    source, who = f"device:{device}", configured(device)
    match reply.outcome:
        case Outcome.DONE:
            return ToolResult.done(_facts(reply.text, source, named))
        case Outcome.REFUSED:
            said = outside(reply.text, Provenance.SENSOR, source)
            return ToolResult.failed(own("{} did not do it: {}", who, said))
        case Outcome.FAILED:
            said = outside(reply.text, Provenance.SENSOR, source)
            return ToolResult.failed(own("{} tried it, and it failed: {}", who, said))
        case Outcome.UNKNOWN:
            return ToolResult.failed(
                own("outcome unknown: {} was cut off meanwhile. It is not repeated", who)
            )
        case _:
            return ToolResult.failed(own("{} has not done it, and will not", who))


def _facts(text: str, source: str, named: Collection[str]) -> Passage:
    try:
        found = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return outside(text, Provenance.SENSOR, source)
    told = fields({name: _fact(value, source, named) for name, value in found.items()})
    # The names of the fields are the other device's, too
    return told if all(map(is_own_word, found)) else told.below(Provenance.SENSOR, source)


def _fact(value: object, source: str, named: Collection[str]) -> Fact:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        is_ours = is_own_word(value, named)
        return configured(value) if is_ours else outside(value, Provenance.SENSOR, source)
    if isinstance(value, Mapping):
        return outside(msgspec.json.encode(value).decode(), Provenance.SENSOR, source)
    if isinstance(value, list):
        return [_fact(one, source, named) for one in value]
    return outside(str(value), Provenance.SENSOR, source)
