import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.config import Secret
from agent.errors import ProviderError, SpendingLimit
from agent.messages import ChatMessage, Image, Role
from agent.messaging.journal import open_agent_db
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse, TextDelta
from agent.providers.create import chain, service_provider
from agent.providers.metered import IMAGE_TOKENS, MeteredProvider
from agent.providers.prices import Prices
from agent.providers.section import MainProviderSettings, Price
from agent.providers.settings import ProviderSettings
from agent.providers.spending import SpendingLedger
from agent.providers.spending_limits import Budget
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import (
    Call,
    LlmServer,
    Reply,
    Respond,
    failed,
    running,
    sse,
    streamed,
)
from tests.fakes.said import user_said, words

ASKED = ChatRequest((user_said("turn the led on"),), conversation="a")
# What the pretended service counts for an answer of no words
USED = {"prompt_tokens": 1000, "completion_tokens": 500}
COUNTED = Reply(
    body=sse(
        {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": USED},
    )
)
UNCOUNTED = Reply(
    body=sse({"choices": [{"index": 0, "delta": {"content": "12345678"}, "finish_reason": "stop"}]})
)


class Meters:
    """Metered providers that share a ledger."""

    def __init__(self, ledger: SpendingLedger, http: HttpClient, **limits: float) -> None:
        prices = Prices({"m": Price(input=1.0, output=2.0)})
        self.ledger = ledger
        self.http = http
        self.meter = partial(
            MeteredProvider, budget=Budget(MainProviderSettings(**limits), ledger, prices)
        )

    def at(self, server: LlmServer) -> MeteredProvider:
        return self.meter(service_provider(settings_at(server), {}, self.http))

    async def spent(self) -> tuple[int, int, int, float]:
        day = (await self.ledger.standing("a")).conversation
        return day.requests, day.input_tokens, day.output_tokens, round(day.usd, 9)


def settings_at(server: LlmServer) -> ProviderSettings:
    return ProviderSettings(base_url=server.base_url, model="m", api_key=Secret(secret("provider")))


@pytest.fixture
async def meters(tmp_path: Path) -> AsyncIterator[Meters]:
    journal, http = open_agent_db(tmp_path / "agent.db"), HttpClient()
    yield Meters(SpendingLedger(journal, SteppedClock()), http)
    await http.aclose()
    await journal.aclose()


async def test_an_answer_is_counted_as_the_service_counts_and_priced(meters: Meters) -> None:
    async with running(COUNTED) as server:
        assert (await meters.at(server).chat(ASKED)).text == "ok"
    assert await meters.spent() == (1, 1000, 500, 0.002)


async def test_an_answer_is_counted_before_anybody_can_use_it(meters: Meters) -> None:
    async with running(COUNTED) as server:
        items = meters.at(server).stream(ASKED)
        async with aclosing(items):
            async for item in items:
                if isinstance(item, ChatResponse):
                    assert (await meters.spent())[0] == 1
    assert (await meters.spent())[0] == 1


async def test_what_a_service_does_not_count_is_estimated(meters: Meters) -> None:
    async with running(UNCOUNTED) as server:
        await meters.at(server).chat(ASKED)
    # Fifteen and eight bytes
    assert await meters.spent() == (1, 4, 2, 0.000008)


async def test_thoughts_that_a_service_does_not_count_are_estimated(meters: Meters) -> None:
    thought = {"choices": [{"delta": {"reasoning_content": "x" * 40}}]}
    said = {"choices": [{"delta": {"content": "12345678"}, "finish_reason": "stop"}]}
    async with running(Reply(body=sse(thought, said))) as server:
        await meters.at(server).chat(ASKED)
    assert await meters.spent() == (1, 4, 12, 0.000028)


async def test_a_picture_is_estimated_as_a_picture_not_by_its_bytes(meters: Meters) -> None:
    seen = ChatMessage(Role.USER, words(""), images=(Image("image/png", "x" * 10**6),))
    async with running(UNCOUNTED) as server:
        await meters.at(server).chat(replace(ASKED, messages=(seen,)))
    assert (await meters.spent())[1] == IMAGE_TOKENS


async def test_what_was_broken_off_is_counted_as_far_as_it_came(meters: Meters) -> None:
    async with running(COUNTED) as server, aclosing(meters.at(server).stream(ASKED)) as items:
        assert await anext(items) == TextDelta("ok")
    assert await meters.spent() == (1, 4, 1, 0.000006)


async def test_a_cut_stream_is_counted_as_far_as_it_came(meters: Meters) -> None:
    async with running(dataclasses.replace(streamed("hello, this is me"), cut_after=400)) as server:
        with pytest.raises(ProviderError):
            await meters.at(server).chat(ASKED)
    requests, sent, written, _ = await meters.spent()
    assert (requests, sent) == (1, 4)
    assert written > 0


async def test_an_answer_that_was_all_thoughts_is_counted(meters: Meters) -> None:
    thought = {"reasoning_content": "hm"}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": USED}
    async with running(Reply(body=sse({"choices": [{"delta": thought}]}, last))) as server:
        with pytest.raises(ProviderError, match=r"provider\.max_tokens"):
            await meters.at(server).chat(ASKED)
    assert await meters.spent() == (1, 1000, 500, 0.002)


async def test_a_limit_holds_though_no_request_is_ever_answered(meters: Meters) -> None:
    limited = Meters(meters.ledger, meters.http, daily_limit_tokens=2000)
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": USED}
    async with running(Reply(body=sse(last))) as server:
        for _ in range(5):
            with pytest.raises(ProviderError):
                await limited.at(server).chat(ASKED)
    assert len(server.requests) == 2


async def test_a_call_that_was_cut_is_counted_as_far_as_it_came(meters: Meters) -> None:
    cut = streamed("", Call("lamp", json.dumps({"text": "x" * 400}), "call_1"))
    async with running(dataclasses.replace(cut, cut_after=len(cut.body) // 2)) as server:
        with pytest.raises(ProviderError):
            await meters.at(server).chat(ASKED)
    requests, sent, written, _ = await meters.spent()
    assert (requests, sent) == (1, 4)
    assert written > 0


async def test_thoughts_that_were_broken_off_are_counted(meters: Meters) -> None:
    thought = sse({"choices": [{"delta": {"reasoning_content": "x" * 40}}]}, done=False)
    async with running(Reply(body=thought, stalls=True)) as server:
        heard = asyncio.Event()
        asked = replace(ASKED, heard=heard.set)
        task = asyncio.create_task(meters.at(server).chat(asked))
        await heard.wait()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    assert await meters.spent() == (1, 4, 10, 0.000024)


async def test_an_error_in_place_of_an_answer_costs_nothing(meters: Meters) -> None:
    overloaded = Reply(body=sse({"error": {"message": "overloaded", "code": 503}}))
    async with running(overloaded) as server:
        with pytest.raises(ProviderError):
            await meters.at(server).chat(ASKED)
    assert await meters.spent() == (0, 0, 0, 0.0)


@pytest.mark.parametrize("refusal", [failed(400, "no"), failed(429, "slow"), failed(500, "oh")])
async def test_a_refusal_costs_nothing(meters: Meters, refusal: Reply) -> None:
    async with running(refusal) as server:
        with pytest.raises(ProviderError):
            await meters.at(server).chat(ASKED)
    assert await meters.spent() == (0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ((failed(500, "oh"), COUNTED), 1),
        # An empty answer is no answer, but it has been paid for
        ((Reply(body=sse({"choices": [], "usage": USED})), COUNTED), 2),
    ],
)
async def test_every_request_of_a_chain_is_counted(
    meters: Meters, script: tuple[Reply | Respond, ...], count: int
) -> None:
    async with running(*script) as server:
        settings = settings_at(server)
        provider = chain(settings, {}, {}, meters.http, SteppedClock(), meters.meter)
        assert (await provider.chat(ASKED)).text == "ok"
    assert await meters.spent() == (count, 1000 * count, 500 * count, 0.002 * count)


async def test_a_limit_is_told_in_one_sentence_whatever_else_there_is_to_ask(
    meters: Meters,
) -> None:
    limited = Meters(meters.ledger, meters.http, daily_limit_tokens=1500)
    async with running(COUNTED) as first, running(failed(400, "no such model")) as second:
        named = {"other": settings_at(second)}
        settings = replace_fallbacks(settings_at(first), "provider:n", "other")
        provider = chain(settings, named, {}, limited.http, SteppedClock(), limited.meter)
        await provider.chat(ASKED)
        with pytest.raises(SpendingLimit) as caught:
            await provider.chat(ASKED)
    assert str(caught.value).startswith("provider.daily_limit_tokens is reached")
    assert (len(first.requests), len(second.requests)) == (1, 0)


def replace_fallbacks(settings: ProviderSettings, *names: str) -> ProviderSettings:
    return ProviderSettings(
        base_url=settings.base_url, model="m", api_key=settings.api_key, fallbacks=names
    )


async def test_it_says_what_the_service_says(meters: Meters) -> None:
    async with running(COUNTED) as server:
        metered = meters.at(server)
        assert metered.capabilities().native_tools == metered._inner.capabilities().native_tools
        assert await metered.list_models() == ("fake-model",)
        await metered.warm_up()
        await metered.aclose()
