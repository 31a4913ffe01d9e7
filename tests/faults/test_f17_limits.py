"""Services that say "too often" or "no more": waits are kept, keys change, nothing gets lost."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path

import pytest

from agent.app.providers import LocalParts, open_providers
from agent.config import Secret
from agent.errors import QuotaExhausted
from agent.messages import Role, ToolCall
from agent.messaging.journal import open_agent_db
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, Provider
from agent.providers.section import MainProviderSettings
from agent.settings import Settings
from tests.canaries import secret
from tests.contracts.test_provider import CASES
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import Reply, failed, running, streamed
from tests.fakes.said import assistant_said, system_said, tool_said, user_said
from tests.oracles.test_clients import ORACLES

ASKED = ChatRequest((user_said("is the lamp on?"),))
CALL = ToolCall("call_1", "board_info", "{}")
HISTORY = (
    system_said("be brief, said the first system message"),
    system_said("it is noon, said the second"),
    user_said("the first question"),
    assistant_said("the first answer"),
    user_said("the second question"),
    assistant_said("the second answer", (CALL,)),
    tool_said(CALL, "the result of the tool"),
    assistant_said("the third answer"),
    user_said("the last question"),
)


@asynccontextmanager
async def answering(folder: Path, clock: SteppedClock, **more: object) -> AsyncIterator[Provider]:
    """All that stands between a turn and a service, as the agent has it."""
    http, journal = HttpClient(), open_agent_db(folder / "agent.db")
    wanted = {
        "model": "fake-model",
        "api_key": Secret(secret("first")),
        "offline_last": False,
        **more,
    }
    settings = Settings(provider=MainProviderSettings(**wanted))
    answering = open_providers(settings, {}, http, LocalParts(), journal, clock)
    try:
        yield answering.provider
    finally:
        await http.aclose()
        await journal.aclose()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_retry_after_is_kept_from_the_header_to_the_clock(
    status: int, form: str, tmp_path: Path
) -> None:
    named = formatdate(time.time() + 30, usegmt=True) if form == "date" else "30"
    busy = failed(status, "slow down")
    busy = Reply(busy.body, status, busy.content_type, (("Retry-After", named),))
    clock = SteppedClock()
    async with (
        running(busy, streamed("yes")) as server,
        answering(tmp_path, clock, base_url=server.base_url) as provider,
    ):
        assert (await provider.chat(ASKED)).text == "yes"
    [waited_s] = clock.slept_s
    # A date has whole seconds, and a little time has passed since it was written
    assert 25.0 < waited_s <= 30.0


async def test_every_key_has_its_turn_before_anybody_waits(tmp_path: Path) -> None:
    clock, busy = SteppedClock(), failed(429, "slow down")
    keys = (Secret(secret("second")), Secret(secret("third")))
    async with (
        running(busy, busy, streamed("yes")) as server,
        answering(tmp_path, clock, base_url=server.base_url, more_keys=keys) as provider,
    ):
        assert (await provider.chat(ASKED)).text == "yes"
        assert (await provider.chat(ASKED)).text == "yes"
    sent = [request.headers["authorization"] for request in server.requests]
    named = ("first", "second", "third", "third")
    assert sent == [f"bearer {secret(one)}" for one in named]
    assert clock.slept_s == []


async def test_out_of_quota_is_told_once_and_not_repeated(tmp_path: Path) -> None:
    clock = SteppedClock()
    quota = failed(429, "You exceeded your current quota", code="insufficient_quota")
    async with (
        running(quota) as server,
        answering(tmp_path, clock, base_url=server.base_url) as provider,
    ):
        with pytest.raises(QuotaExhausted):
            await provider.chat(ASKED)
    assert len(server.requests) == 1
    assert clock.slept_s == []


@pytest.mark.parametrize("wire", ORACLES)
@pytest.mark.parametrize("asked", ["at once", "as a stream"])
async def test_no_turn_of_a_history_is_dropped_on_its_way_to_a_service(
    wire: str, asked: str, tmp_path: Path
) -> None:
    oracle, case = ORACLES[wire], CASES[wire]
    reply = Reply(case.text_only, content_type=case.content_type)
    async with running(reply) as server:
        url = server.base_url.removesuffix("/v1") + oracle.base
        async with answering(tmp_path, SteppedClock(), kind=oracle.kind, base_url=url) as provider:
            request = ChatRequest(HISTORY)
            if asked == "as a stream":
                _ = [item async for item in provider.stream(request)]
            else:
                await provider.chat(request)
    body = json.dumps(server.requests[-1].body)
    for message in HISTORY:
        assert message.text in body, message
    said = [body.index(message.text) for message in HISTORY if message.role is not Role.SYSTEM]
    assert said == sorted(said)
