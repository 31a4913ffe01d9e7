"""Tools that count what is done with them."""

from agent.errors import LinkLost
from agent.messages import Effect, Provenance, ToolResult
from agent.passage import own
from agent.tools.base import Arguments, Tool, ToolContext
from tests.fakes.said import tool_result


class LampArguments(Arguments, frozen=True):
    value: str


class CountingTool(Tool[LampArguments]):
    """Succeeds, and keeps who used it with what."""

    reads = Provenance.WEB
    name = "lamp"
    description = own("Set the lamp.")
    arguments_type = LampArguments

    def __init__(
        self, effect: Effect = Effect.ACTUATE, provenance: Provenance = Provenance.OWNER
    ) -> None:
        self.effect = effect
        self._provenance = provenance
        self.uses: list[tuple[str, ToolContext]] = []

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        self.uses.append((arguments.value, context))
        return tool_result(
            success=True, text=f'{{"lamp":"{arguments.value}"}}', provenance=self._provenance
        )


class PageTool(CountingTool):
    """Reads a page that anybody could have written."""

    name = "page"
    description = own("Read a page.")

    def __init__(self) -> None:
        super().__init__(Effect.READ, Provenance.WEB)


class BrokenTool(CountingTool):
    """Has a bug."""

    name = "broken"

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        raise ZeroDivisionError("a bug")


class UnpluggedTool(CountingTool):
    """Its board is away."""

    name = "unplugged"

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        raise LinkLost(own("the board is not connected"))
