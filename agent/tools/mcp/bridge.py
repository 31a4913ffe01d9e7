"""The bridge: a process between the agent and one MCP server, with the official SDK in it.

It answers each line on its standard input with one line, and ends with the input, together with
everything it started. It refuses what the server asks of us (models, folders, questions).
"""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from mcp import Client, MCPError
from mcp_types import (
    CallToolResult,
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
    MAX_DEFINITION_BYTES,
    MAX_LINE_BYTES,
    MAX_TEXT_CHARS,
    MAX_TOOLS,
    MAX_TROUBLE_CHARS,
    BridgeAnswer,
    BridgeRequest,
    Offered,
    ServerSetup,
)
from agent.tools.mcp.transport import TransportFault, address, program

# A server that goes on with its listing for ever is cut off
_MAX_PAGES = 16
# Of a name that is refused anyway
_MAX_NAME_CHARS = 128
# A server that was told to end has two seconds, as the protocol wants it
_LAST_S = 3.0
# Of at most 1000
_KILLED_FIRST = "800"
# See prctl(2)
_PR_SET_CHILD_SUBREAPER = 36
# What changes without a tool's meaning anything else, and no model sees
_BESIDE = frozenset({"_meta", "icons"})


async def main() -> None:
    """Serve until the agent closes our input."""
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    setup = msgspec.json.decode(await reader.readline(), type=ServerSetup)
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    serving = asyncio.create_task(_serve(setup, lines))
    # Read all the time: the end of our input ends a call, too
    hearing = asyncio.create_task(_hear(reader, lines))
    await asyncio.wait({serving, hearing}, return_when=asyncio.FIRST_COMPLETED)
    # Whatever holds us up from now on
    loop.call_later(_LAST_S, end)
    signal.alarm(int(2 * _LAST_S))
    serving.cancel()
    await asyncio.wait({serving})


async def _hear(reader: asyncio.StreamReader, lines: "asyncio.Queue[bytes]") -> None:
    while line := await reader.readline():
        lines.put_nowait(line)


async def _serve(setup: ServerSetup, lines: "asyncio.Queue[bytes]") -> None:
    fault = TransportFault()
    transport = program(setup, fault) if setup.command else address(setup)
    us = Implementation(name="barnacle", version=__version__)
    try:
        async with Client(transport, client_info=us, cache=None) as client:
            _say(BridgeAnswer(tools=tuple(await _listed(client))))
            while True:
                request = msgspec.json.decode(await lines.get(), type=BridgeRequest)
                answer = await _called(client, request)
                _say(answer if not fault.said or answer.text else _over(fault.said))
    except Exception as err:  # noqa: BLE001  # a process's last word; the SDK's errors are of many libraries
        _say(_over(fault.said or _sentence(err)))


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
    fits = len(text) <= MAX_DEFINITION_BYTES
    return Offered(tool.name[:_MAX_NAME_CHARS], text if fits else "")


async def _called(client: Client, request: BridgeRequest) -> BridgeAnswer:
    try:
        result = await client.session.call_tool(request.tool, request.arguments)
    except (MCPError, RuntimeError, ValueError) as err:
        return BridgeAnswer(trouble=_sentence(err))
    text = printable_text("\n".join(_texts(result)), MAX_TEXT_CHARS)
    return BridgeAnswer(text=text or "(nothing)", is_error=bool(result.is_error))


def _texts(result: CallToolResult) -> Iterable[str]:
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


def _sentence(err: BaseException) -> str:
    """Return the innermost error; a task group's own text explains nothing."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    if isinstance(err, OSError) and err.strerror:
        return f"{err.filename or 'it'}: {err.strerror}"
    return printable_line(f"{type(err).__name__}: {err}", MAX_TROUBLE_CHARS)


def _over(trouble: str) -> BridgeAnswer:
    return BridgeAnswer(trouble=trouble, is_over=True)


def _say(answer: BridgeAnswer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def adopt_orphans() -> None:
    """Keep the processes that a server leaves behind as children of this one."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end() -> None:
    """End this process group, with everything the server started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    # When memory is short, this goes before the agent, and its server with it
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST)
    adopt_orphans()
    with contextlib.suppress(msgspec.DecodeError):
        asyncio.run(main())
    end()
