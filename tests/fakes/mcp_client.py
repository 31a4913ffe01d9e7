"""The Model Context Protocol's own client, at an agent that is lent."""

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.fakes.lent_agent import Lent


@contextlib.asynccontextmanager
async def client_of(made: Lent, token: str = "") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token or await made.token()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60.0) as http,
        Client(streamable_http_client(f"{made.url}/mcp", http_client=http)) as client,
    ):
        yield client


async def relay_of(made: Lent, folder: Path, name: str = "claude") -> StdioServerParameters:
    """Return `barnacle mcp serve`, by the token of a caller with that name."""
    token = folder / "token"
    token.write_text(await made.token(name=name))
    arguments = ("mcp", "serve", "--token-file", str(token), "--url", made.url)
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "agent.cli.main", *arguments],
        env={"BARNACLE_CONFIG": str(folder / "barnacle.toml")},
    )
