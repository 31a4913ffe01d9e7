"""Tool of an MCP server, as the owner approved it.

A model sees what the owner saw, whatever the server says by now. What comes back is trusted as
little as any page.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agent.errors import BadArguments, McpAway
from agent.messages import Effect, ToolResult, ToolSpec
from agent.passage import Provenance, configured, echo, fields, outside, own
from agent.security.act import Dependence
from agent.security.shares import owners
from agent.security.spelling import spelled_argument
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.server import McpServer, PutQuestion, decline

_MAX_DEPTH = 16


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def refuse_unfit(arguments: Mapping[str, object], schema: Mapping[str, object]) -> None:
    """Raise BadArguments with the name of the first argument that does not fit."""
    # Each Python reads another depth
    if _is_deeper(arguments, _MAX_DEPTH):
        raise BadArguments("the arguments are nested too deeply")
    fields = schema["properties"]
    assert isinstance(fields, Mapping)
    takes_any = bool(schema.get("additionalProperties")) or "patternProperties" in schema
    for name, value in arguments.items():
        if name not in fields:
            if not takes_any:
                raise BadArguments(
                    f"unknown argument `{name}`; the arguments are {', '.join(fields)}"
                )
            continue
        _refuse_other_kind(name, value, fields[name])
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            raise BadArguments(f"the argument `{name}` is missing")


def _refuse_other_kind(name: str, value: object, schema: Mapping[str, object]) -> None:
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(kinds, list) and not any(
        kind not in _KINDS or _KINDS[kind](value) for kind in kinds
    ):
        raise BadArguments(f"`{name}` must be {' or '.join(map(str, kinds))}")
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        raise BadArguments(f"`{name}` must be one of {', '.join(map(str, choices))}")


def _is_deeper(value: object, most: int) -> bool:
    """Return true if more than so many lists and objects lie in one another; look no deeper."""
    parts = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(parts, list):
        return False
    return not most or any(_is_deeper(part, most - 1) for part in parts)


KEY_TEXT = "the arguments contain one of my keys, which never goes to a server"
# Longer is a file, and files have tools of their own
MAX_ARGUMENTS_BYTES = 64 * 1024


class McpArguments(Arguments, frozen=True):
    """Arguments in the shape of the tool's own schema."""

    values: dict[str, Any] = msgspec.field(default_factory=dict)

    def by_name(self) -> dict[str, object]:
        return {
            name: spelled_argument(name, value) if isinstance(value, str) else value
            for name, value in self.values.items()
        }


class McpTool(Tool[McpArguments]):
    """Calls a tool of a server.

    Args:
        reads: the owner says that it only looks.
        is_secret: whether something in a text may not be sent; also a look is sent.
    """

    reads = Provenance.WEB
    arguments_type = McpArguments
    sends_out = True

    def __init__(
        self,
        offer: ToolOffer,
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
        self.may_stand = offer.repeats
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
        return f"call {self._offer.tool} of the MCP server {self._offer.server}"

    def binds_to(self, arguments: McpArguments) -> Dependence:
        """Bind the approval to this version of the tool."""
        return Dependence(environment={"digest": self._offer.digest})

    async def execute(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        offer = self._offer
        if self._is_secret(msgspec.json.encode(arguments.values).decode()):
            return ToolResult.failed(own(KEY_TEXT))
        try:
            answer = await self._server.call(
                offer.tool, offer.digest, arguments.values, self._questions(context)
            )
        except McpAway as err:
            return ToolResult.failed(err.words(self.reads, self._source))
        said = outside(answer.text, self.reads, self._source)
        return ToolResult(not answer.is_error, fields({"text": said}))

    def _questions(self, context: ToolContext) -> PutQuestion:
        """Return the way to the owner for what the server asks; nobody else is asked."""
        if context.inquire is None or not context.audience.is_owner_alone:
            return decline
        from agent.tools.mcp.questions import OwnerQuestions  # noqa: PLC0415 - a call needs it

        return OwnerQuestions(self._offer.server, context.inquire, self._is_secret)
