"""The Model Context Protocol's own client, at an agent that is lent."""

import contextlib
from collections.abc import AsyncIterator

import httpx2
from mcp.client.client import Client
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
