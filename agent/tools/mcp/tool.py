"""A tool of an MCP server, as the owner approved it.

A model sees what the owner saw, whatever the server says by now. What comes back is trusted as
little as any page.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from agent.errors import BadArguments, McpAway
from agent.messages import Effect, ToolResult, ToolSpec
from agent.passage import Provenance, configured, echo, fields, outside, own
from agent.security.binding import Dependence
from agent.security.shares import owners
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.mcp.arguments import refuse_unfit
from agent.tools.mcp.offer import Offer
from agent.tools.mcp.server import McpServer

KEY_TEXT = "a key of mine stands in it, which is not sent to a server"
# Longer is a file, and files have tools of their own
MAX_ARGUMENTS_BYTES = 64 * 1024


class McpArguments(Arguments, frozen=True):
    """Whatever the tool's own schema wants."""

    values: dict[str, Any] = msgspec.field(default_factory=dict)

    def by_name(self) -> dict[str, object]:
        return self.values


class McpTool(Tool[McpArguments]):
    """Has a server do something.

    Args:
        reads: the owner says that it only looks.
        is_secret: whether something in a text may not be sent; also a look is sent.
    """

    reads = Provenance.WEB
    arguments_type = McpArguments
    sends_out = True

    def __init__(
        self,
        offer: Offer,
        server: McpServer,
        *,
        reads: bool,
        is_secret: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.name = offer.name
        # What the owner has approved, word for word
        said = offer.description or f"{offer.tool} of {offer.server}."
        self.description = configured(said)
        self.effect = Effect.READ if reads else Effect.NETWORK
        self.shown = owners(f"what the MCP server {offer.server} says")
        self._offer = offer
        self._source = f"mcp:{offer.server}"
        self._server = server
        self._is_secret = is_secret
        self._spec = ToolSpec(self.name, self.description, offer.schema, self.effect)

    def spec(self) -> ToolSpec:
        return self._spec

    def parse(self, arguments_json: str) -> McpArguments:
        if len(arguments_json.encode(errors="replace")) > MAX_ARGUMENTS_BYTES:
            raise BadArguments(f"the arguments are longer than {MAX_ARGUMENTS_BYTES} bytes")
        try:
            values = msgspec.json.decode(arguments_json or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError) as err:
            raise BadArguments(echo(str(err))) from err
        except RecursionError as err:
            raise BadArguments("the arguments are nested too deeply") from err
        refuse_unfit(values, self._offer.schema)
        return McpArguments(values)

    def in_words(self, arguments: McpArguments) -> str:
        return f"have the MCP server {self._offer.server} do {self._offer.tool}"

    def binds_to(self, arguments: McpArguments) -> Dependence:
        """A tool that was approved anew is another one."""
        return Dependence(environment={"digest": self._offer.digest})

    async def execute(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        offer = self._offer
        if self._is_secret(msgspec.json.encode(arguments.values).decode()):
            return ToolResult.failed(own(KEY_TEXT))
        try:
            answer = await self._server.call(offer.tool, offer.digest, arguments.values)
        except McpAway as err:
            return ToolResult.failed(err.words(self.reads, self._source))
        said = outside(answer.text, self.reads, self._source)
        return ToolResult(not answer.is_error, fields({"text": said}))
