"""A garden of two outputs and a sensor, as tools that keep what is done with them."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.messages import Effect, Provenance, ToolResult
from agent.passage import own
from agent.tools.base import Arguments, NoArguments, Tool, ToolContext
from tests.fakes.said import tool_result


class PulseArguments(Arguments, frozen=True):
    pin: Literal["pump", "sprinkler"]
    duration: Annotated[int, Meta(ge=1, le=60_000, description="in ms")]


class PulseTool(Tool[PulseArguments]):
    """Moves an output for a time."""

    reads = Provenance.OWNER
    name = "board_pulse"
    description = own("Switch an output on for a time.")
    arguments_type = PulseArguments

    def __init__(self, effect: Effect = Effect.ACTUATE) -> None:
        self.effect = effect
        self.done: list[tuple[str, int]] = []

    async def execute(self, arguments: PulseArguments, context: ToolContext) -> ToolResult:
        self.done.append((arguments.pin, arguments.duration))
        return tool_result(success=True, text=f'{{"pin":"{arguments.pin}"}}')


class DrippingArguments(Arguments, frozen=True):
    pin: Literal["sprinkler"]
    duration: Annotated[int, Meta(ge=1, le=60_000, description="in ms")]


class NoPumpTool(Tool[DrippingArguments]):
    """The same tool on a board whose pump was taken off."""

    reads = Provenance.OWNER
    name = "board_pulse"
    description = own("Switch an output on for a time.")
    arguments_type = DrippingArguments
    effect = Effect.ACTUATE

    async def execute(self, arguments: DrippingArguments, context: ToolContext) -> ToolResult:
        raise AssertionError("nothing here was asked for")


class SoilTool(Tool[NoArguments]):
    """Measures."""

    reads = Provenance.OWNER
    name = "board_soil_read"
    description = own("Measure the moisture of the soil.")
    arguments_type = NoArguments
    effect = Effect.READ

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return tool_result(success=True, text='{"value":40,"unit":"%"}')


class NoteArguments(Arguments, frozen=True):
    text: str


class NoteTool(Tool[NoteArguments]):
    """Writes something down, which is no act to do again."""

    reads = Provenance.OWNER
    name = "note"
    description = own("Write a note.")
    arguments_type = NoteArguments
    effect = Effect.WRITE

    async def execute(self, arguments: NoteArguments, context: ToolContext) -> ToolResult:
        return tool_result(success=True, text="{}")
