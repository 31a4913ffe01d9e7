"""Client for the conformance suite of the protocol: our side of a server, with an owner who agrees.

`python -m tests.fakes.mcp_conformance_client SOCKET` serves one scenario after the other until its
input ends, by the one bridge that an agent has for all servers: a start of both for each scenario
took most of the time. What the suite starts is mcp_conformance_caller.py.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from agent.config import Secret
from agent.errors import McpAway
from agent.system.clock import SystemClock
from agent.tools.mcp.bridge_process import BridgeProcess
from agent.tools.mcp.lines import BridgeAnswer, ReplyRequest, ServerQuestion
from agent.tools.mcp.server import McpServer, ServerTimeouts
from agent.tools.mcp.settings import McpSettings

# A tool of the suite asks for numbers; nothing else matters to it
NUMBERS = {"a": 5, "b": 3}
# Another one wants to see what a client makes of the schema of a third
ECHO, SHOWN = "json_schema_echo", "json_schema_2020_12_tool"


async def agree(question: ServerQuestion) -> ReplyRequest:
    """Reply as an owner who signs in where the link leads, and takes what is suggested."""
    if question.returns_to:
        async with httpx.AsyncClient() as browser:
            shown = await browser.get(question.address)
        return ReplyRequest("", "accept", {"address": shown.headers["location"]})
    values = {name: schema.get("default") for name, schema in question.fields.items()}
    return ReplyRequest("", "accept", values)  # type: ignore[arg-type]  # the suite's own defaults


def settings(url: str, told: Mapping[str, str]) -> McpSettings:
    """Return the settings of the server, with the client that the suite has registered."""
    if "client_id" not in told:
        return McpSettings(url=url)
    secret = Secret(told.get("client_secret", ""))
    return McpSettings(url=url, client_id=told["client_id"], client_secret=secret)


async def play(url: str, told: Mapping[str, Any], bridge: BridgeProcess) -> None:
    """List the tools of the server and call each of them as the suite wants it."""
    wanted = {one["name"]: one["arguments"] for one in told.get("toolCalls", ())}
    with tempfile.TemporaryDirectory() as folder:
        server = McpServer("suite", settings(url, told), Path(folder), SystemClock())
        server.share(bridge)
        try:
            offers = await server.offers(agree)
            schemas = {one.tool: one.schema for one in offers}
            wanted |= {ECHO: {"schema": schemas.get(SHOWN)}}
            for one in offers:
                asked = set(one.schema["properties"])  # type: ignore[call-overload]  # an object
                numbers = {name: NUMBERS[name] for name in asked & set(NUMBERS)}
                await server.call(one.tool, one.digest, wanted.get(one.tool, numbers), agree)
        finally:
            await server.aclose()


async def meet(
    bridge: BridgeProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Play for a caller, who is told what went wrong; one that the suite has ended ends it."""
    url, context = [(await reader.readline()).decode().rstrip("\n") for _ in range(2)]
    playing = asyncio.ensure_future(play(url, json.loads(context or "{}"), bridge))
    gone = asyncio.ensure_future(reader.read())
    await asyncio.wait([playing, gone], return_when=asyncio.FIRST_COMPLETED)
    playing.cancel()
    gone.cancel()
    try:
        await playing
    except McpAway as err:
        writer.write(str(err).encode())
    except BaseException:  # noqa: BLE001 - the suite shows what a client says as it fails
        writer.write(traceback.format_exc().encode())
    writer.close()


@contextlib.asynccontextmanager
async def started() -> AsyncIterator[BridgeProcess]:
    """Yield a bridge that stays between two scenarios."""
    with tempfile.TemporaryDirectory() as home:
        bridge = BridgeProcess(Path(home))
        # It ends with the last connection
        keeper = await bridge.open("keeper")
        try:
            yield bridge
        finally:
            keeper.hear(BridgeAnswer(keeper.key, is_over=True))
            await bridge.settle(ServerTimeouts().end_s)


async def main(path: str) -> None:
    async with started() as bridge:
        server = await asyncio.start_unix_server(partial(meet, bridge), path)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
