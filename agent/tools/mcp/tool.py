"""A tool of an MCP server, as the owner approved it.

A model sees what the owner saw, whatever the server says by now. What comes back is trusted as
little as any page.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from agent.errors import BadArguments, McpAway
from agent.messages import Effect, Provenance, ToolResult, ToolSpec
from agent.security.binding import Dependence
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

    arguments_type = McpArguments

    def __init__(
        self,
        offer: Offer,
        server: McpServer,
        *,
        reads: bool,
        is_secret: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.name = offer.name
        self.description = offer.description or f"{offer.tool} of {offer.server}."
        self.effect = Effect.READ if reads else Effect.NETWORK
        self._offer = offer
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
            raise BadArguments(str(err)) from err
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
            return ToolResult(success=False, text=KEY_TEXT)
        try:
            answer = await self._server.call(offer.tool, offer.digest, arguments.values)
        except McpAway as err:
            return self._result(str(err), success=False)
        text = msgspec.json.encode({"text": answer.text}).decode()
        return self._result(text, success=not answer.is_error)

    def _result(self, text: str, *, success: bool) -> ToolResult:
        return ToolResult(success, text, Provenance.WEB, f"mcp:{self._offer.server}")
