"""A model that never stops asking, and many conversations at once: the limits hold all the same."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.app.providers import LocalParts, open_providers
from agent.config import Secret
from agent.errors import SpendingLimit
from agent.messaging.journal import open_agent_db
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, Provider
from agent.providers.section import MainProviderSettings
from agent.providers.spending import read_day, today
from agent.settings import Settings
from agent.storage.worker import DatabaseWorker
from tests.canaries import secret
from tests.fakes.channel import FakeChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running as dispatching
from tests.fakes.llm_server import Call, Reply, running, sse, streamed
from tests.fakes.said import user_said
from tests.fakes.tools import CountingTool

# A request of these tests
COST = 100
ANSWER = Reply(
    body=sse(
        {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": COST - 20, "completion_tokens": 20}},
    ),
    # As long as a short thought: whoever comes meanwhile comes at the same time
    piece_bytes=64,
    pause_s=0.01,
)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    opened = open_agent_db(tmp_path / "agent.db")
    yield opened
    await opened.aclose()


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


def limited(base_url: str, http: HttpClient, journal: DatabaseWorker, tokens: int) -> Provider:
    provider = MainProviderSettings(
        base_url=base_url,
        model="large",
        api_key=Secret(secret("provider")),
        daily_limit_tokens=tokens,
        offline_last=False,
    )
    settings = Settings(provider=provider)
    return open_providers(settings, {}, http, LocalParts(), journal, SteppedClock()).provider


async def ask(provider: Provider, conversation: str) -> bool:
    """Whether it was answered."""
    request = ChatRequest((user_said("hi"),), conversation=conversation)
    try:
        await provider.chat(request)
    except SpendingLimit:
        return False
    return True


@pytest.mark.parametrize(("at_once", "limit", "sent"), [(2, COST, 1), (20, COST + 1, 2)])
async def test_turns_at_once_near_a_limit_pass_it_by_one_request_at_most(
    at_once: int, limit: int, sent: int, http: HttpClient, journal: DatabaseWorker, tmp_path: Path
) -> None:
    async with running(ANSWER) as server:
        provider = limited(server.base_url, http, journal, limit)
        answered = await asyncio.gather(*(ask(provider, f"c{n}") for n in range(at_once)))
    # What is counted is written with the next commit, such as that of an answer
    await journal.transact(lambda _: None)
    spent = read_day(tmp_path / "agent.db", today(SteppedClock().wall_s()))
    assert spent is not None
    assert spent.tokens <= limit + COST
    assert len(server.requests) == sum(answered) == spent.requests == sent


async def test_a_model_that_always_wants_a_tool_stops_at_the_limit_over_restarts(
    http: HttpClient, tmp_path: Path
) -> None:
    channel, tool = FakeChannel(), CountingTool()
    looping = streamed("", Call(tool.name, '{"value":"on"}'))
    asked = 0
    async with running(looping) as server:
        for restart in range(3):
            journal = open_agent_db(tmp_path / "agent.db")
            provider = limited(server.base_url, http, journal, 1)
            async with dispatching(tmp_path, provider, channel, tools=[tool]) as agent:
                await agent.say("go on for ever", f"{restart}")
                texts = await channel.wait_for(restart + 1)
            await journal.aclose()
            asked = asked or len(server.requests)
            assert "provider.daily_limit_tokens is reached" in texts[-1]
    assert len(server.requests) == asked == 1
