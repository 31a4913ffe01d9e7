"""Connection of the bridge to one MCP server, by the official SDK.

Refuses what a server asks of us, models and folders, but for questions to the owner, which it hands
on while a call is under way.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from mcp import Client, MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    Implementation,
    PaginatedRequestParams,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from agent import __version__
from agent.text.printable import printable_line, printable_text
from agent.tools.mcp.lines import (
    MAX_ADDRESS_CHARS,
    MAX_DEFINITION_BYTES,
    MAX_FIELDS_BYTES,
    MAX_QUESTION_CHARS,
    MAX_TEXT_CHARS,
    MAX_TOOLS,
    MAX_TROUBLE_CHARS,
    BridgeAnswer,
    CallRequest,
    Offered,
    ReplyRequest,
    ServerQuestion,
    ServerSetup,
)
from agent.tools.mcp.transport import TransportFault, address, program

if TYPE_CHECKING:
    import httpx2
    from mcp.client import ClientRequestContext

# A server that goes on with its listing for ever is cut off
_MAX_PAGES = 16
# Of a name that is refused anyway
_MAX_NAME_CHARS = 128
# What changes without a tool's meaning anything else, and no model sees
_BESIDE = frozenset({"_meta", "icons"})

Say = Callable[[BridgeAnswer], None]


class ServerConnection:
    """One server from its start to its end.

    Args:
        key: what the agent calls this connection.
        say: sends a line to the agent.
    """

    def __init__(self, key: str, setup: ServerSetup, say: Say) -> None:
        self._key = key
        self._setup = setup
        self._send = say
        self._calls: asyncio.Queue[CallRequest] = asyncio.Queue()
        self._replies: asyncio.Queue[ReplyRequest] = asyncio.Queue()
        # One question at a time, and only while the agent waits for an answer
        self._asking = asyncio.Lock()
        self._is_awaited = True
        self._asked = 0
        self._fault = TransportFault()
        # What the agent knows of its tools
        self._told: dict[str, Offered] = {}

    def take(self, request: CallRequest | ReplyRequest) -> None:
        """Take a request; it is answered in its turn."""
        if isinstance(request, CallRequest):
            self._is_awaited = True
            self._calls.put_nowait(request)
        else:
            self._replies.put_nowait(request)

    def kill(self) -> None:
        """End its program at once."""
        self._fault.kill()

    async def serve(self) -> None:
        """Serve until the server ends or this is cancelled."""
        us = Implementation(name="barnacle", version=__version__)
        try:
            transport = (
                program(self._setup, self._fault)
                if self._setup.command
                else address(self._setup, self._auth(), self._fault)
            )
            asks = self._elicited
            async with Client(
                transport, client_info=us, cache=None, elicitation_callback=asks
            ) as client:
                self._say(await self._changes(client) or BridgeAnswer())
                while True:
                    answer = await self._answer(client, await self._calls.get())
                    fault = self._fault.said
                    self._say(answer if not fault or answer.text else _over(fault))
        except Exception as err:  # noqa: BLE001  # a connection's last word; the SDK's errors are of many libraries
            self._say(_over(self._fault.said or sentence(err)))

    async def _answer(self, client: Client, request: CallRequest) -> BridgeAnswer:
        """Call the tool if all is as the agent knows it; only that was approved.

        A server need not say that its tools are others now, and what it says may be lost: it is
        asked before each call.
        """
        try:
            return await self._changes(client) or await _called(client, request)
        except (MCPError, RuntimeError, ValueError) as err:
            return BridgeAnswer(trouble=sentence(err))

    async def _changes(self, client: Client) -> BridgeAnswer | None:
        """Return the tools, if they are not those that were told last."""
        listed = await _listed(client)
        # Of two with one name only the first counts; their order is nothing that was approved
        by_name = {one.name: one for one in reversed(listed)}
        if by_name == self._told:
            return None
        self._told = by_name
        return BridgeAnswer(tools=tuple(listed), has_changed=True)

    def _auth(self) -> "httpx2.Auth | None":
        from agent.tools.mcp.sign_in import SignIn  # noqa: PLC0415 - for servers of the web

        return SignIn(self._put).provider(self._setup)

    def _say(self, answer: BridgeAnswer) -> None:
        self._is_awaited = False
        self._tell(answer)

    def _tell(self, answer: BridgeAnswer) -> None:
        self._send(msgspec.structs.replace(answer, connection=self._key))

    async def _put(self, question: ServerQuestion) -> ReplyRequest:
        async with self._asking:
            if not self._is_awaited:
                return ReplyRequest(self._key, "decline")
            self._asked += 1
            numbered = msgspec.structs.replace(question, number=self._asked)
            self._tell(BridgeAnswer(question=numbered))
            # That to a question which the server took back is no reply to this one
            while (reply := await self._replies.get()).number != self._asked:
                pass
            return reply

    async def _elicited(
        self, context: "ClientRequestContext", params: ElicitRequestParams
    ) -> ElicitResult:
        del context
        question = _question(params)
        if question is None:
            return ElicitResult(action="decline")
        reply = await self._put(question)
        values: Any = reply.values
        if reply.action != "accept" or isinstance(params, ElicitRequestURLParams):
            values = None
        return ElicitResult(action=reply.action, content=values)


def _question(asked: ElicitRequestParams) -> ServerQuestion | None:
    """Return it for the owner; None where it cannot be shown whole."""
    text = printable_text(asked.message, MAX_QUESTION_CHARS)
    if isinstance(asked, ElicitRequestURLParams):
        is_whole = len(asked.url) <= MAX_ADDRESS_CHARS
        return ServerQuestion(text, address=asked.url) if is_whole else None
    assert isinstance(asked, ElicitRequestFormParams)
    schema = asked.requested_schema
    fields, required = schema.get("properties"), schema.get("required")
    if not isinstance(fields, dict) or not all(isinstance(one, dict) for one in fields.values()):
        return None
    if len(json.dumps(fields)) > MAX_FIELDS_BYTES:
        return None
    names = required if isinstance(required, list) else []
    return ServerQuestion(text, fields, tuple(str(name) for name in names))


async def _listed(client: Client) -> list[Offered]:
    found: list[Offered] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += map(_offered, page.tools)
        cursor = page.next_cursor
        if cursor is None or len(found) > MAX_TOOLS:
            break
    return found[:MAX_TOOLS]


def _offered(tool: Tool) -> Offered:
    told = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {key: value for key, value in told.items() if key not in _BESIDE}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=True)
    # As it goes over the line, where each quotation mark takes two
    if len(json.dumps(text)) > MAX_DEFINITION_BYTES:
        return Offered(tool.name[:_MAX_NAME_CHARS])
    return Offered(tool.name[:_MAX_NAME_CHARS], text, _invalid(tool.input_schema))


def _invalid(schema: dict[str, Any]) -> str:
    """Return why no service takes the schema; one such tool would spoil every request."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as err:
        where = ".".join(str(step) for step in err.absolute_path) or "the whole"
        return printable_line(f"in {where}, {err.message}", MAX_TROUBLE_CHARS)
    except RecursionError:
        return "it is nested too deeply"
    return ""


async def _called(client: Client, request: CallRequest) -> BridgeAnswer:
    # Its session's own call gives up where a server without sessions asks a question
    result = await client.call_tool(request.tool, request.arguments)
    text = printable_text("\n".join(texts(result)), MAX_TEXT_CHARS)
    return BridgeAnswer(text=text or "(nothing)", is_error=bool(result.is_error))


def texts(result: CallToolResult) -> Iterable[str]:
    """Yield the readable text of a result; name the kind of everything else."""
    for block in result.content:
        match block:
            case TextContent():
                yield block.text
            case EmbeddedResource(resource=TextResourceContents(text=text)):
                yield text
            case ResourceLink():
                yield f"[a link: {block.uri}]"
            case _:
                yield f"[{block.type}, left out]"
    if result.structured_content is not None and not result.content:
        yield json.dumps(result.structured_content, ensure_ascii=False)


def sentence(err: BaseException) -> str:
    """Return the innermost error; a task group's own text explains nothing."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    if isinstance(err, OSError) and err.strerror:
        return f"{err.filename or 'it'}: {err.strerror}"
    return printable_line(f"{type(err).__name__}: {err}", MAX_TROUBLE_CHARS)


def _over(trouble: str) -> BridgeAnswer:
    return BridgeAnswer(trouble=trouble, is_over=True)
