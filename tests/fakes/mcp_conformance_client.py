"""Client for the conformance suite of the protocol: our side of a server, with an owner who agrees.

Usage: mcp_conformance_client.py URL; lists the tools and calls each of them as the suite wants it.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx

from agent.config import Secret
from agent.errors import McpAway
from agent.system.clock import SystemClock
from agent.tools.mcp.lines import ReplyRequest, ServerQuestion
from agent.tools.mcp.server import McpServer
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


async def main() -> None:
    told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    wanted = {one["name"]: one["arguments"] for one in told.get("toolCalls", ())}
    with tempfile.TemporaryDirectory() as folder:
        server = McpServer("suite", settings(sys.argv[1], told), Path(folder), SystemClock())
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


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except McpAway as err:
        sys.exit(str(err))
