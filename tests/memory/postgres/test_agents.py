"""Eight agents on one brain, and one that dies; `bench-memory --only agents` has a hundred."""

import asyncio

from agent.config import Secret
from scripts.lib.bench import agents
from scripts.lib.bench.agents import Crowd
from tests.fakes.postgres import PostgresServer


async def test_many_agents_lose_double_and_show_nothing(server: PostgresServer) -> None:
    url = Secret(server.fresh_url())
    seen = await asyncio.to_thread(agents.run, Crowd(8, 4, 1), server, url)
    assert seen.is_clean, seen.text()
    assert seen.kept >= 16
    assert seen.forgotten == 16
    assert seen.connections <= 9
