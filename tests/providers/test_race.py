"""A fallback is asked beside a service that says nothing, and one alone is read."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from agent.errors import RateLimited, TransientProviderError
from agent.providers.base import ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.candidate import ModelCandidate
from agent.providers.circuit_breaker import FAILURES_TO_OPEN, CircuitState
from agent.providers.reliable import LONG_ATTEMPT_S, ReliableProvider
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import calls
from tests.fakes.said import user_said

REQUEST = ChatRequest((user_said("hi"),))
SILENCE_S = 0.05
# A machine at work is late by less than this
SOON_S = 5.0


class SilentProvider(Provider):
    """Is asked, and says nothing until it is told to go on."""

    name = "silent"

    def __init__(self, answer: ChatResponse | None = None) -> None:
        self.asked = 0
        self.closed = 0
        self.goes_on = asyncio.Event()
        self.was_asked = asyncio.Event()
        self._answer = answer or ChatResponse("late")

    async def chat(self, request: ChatRequest) -> ChatResponse:
        raise NotImplementedError("it only streams")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        self.asked += 1
        self.was_asked.set()
        try:
            await self.goes_on.wait()
            yield TextDelta(self._answer.text)
            yield self._answer
        finally:
            self.closed += 1


class ThinkingProvider(SilentProvider):
    """Sends events without text, as a model that thinks does."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        assert request.heard is not None
        request.heard()
        async with aclosing(super().stream(request)) as items:
            async for item in items:
                yield item


class SpeakingProvider(Provider):
    """Answers at once, or with an error."""

    name = "speaking"

    def __init__(self, answer: ChatResponse | Exception, *, heard: bool = False) -> None:
        self.asked = 0
        self._answer = answer
        self._heard = heard

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.asked += 1
        if self._heard and request.heard is not None:
            request.heard()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def raced(
    *services: Provider, beside_after_s: float = SILENCE_S, clock: SteppedClock | None = None
) -> ReliableProvider:
    candidates = [ModelCandidate(f"s{number}", [one]) for number, one in enumerate(services)]
    return ReliableProvider(candidates, clock or SteppedClock(), beside_after_s=beside_after_s)


async def test_a_fallback_answers_for_a_silent_service() -> None:
    silent, other = SilentProvider(), SpeakingProvider(ChatResponse("b"))
    began_s = time.monotonic()
    assert (await raced(silent, other).chat(REQUEST)).text == "b"
    assert SILENCE_S <= time.monotonic() - began_s < SOON_S
    assert (silent.asked, silent.closed, other.asked) == (1, 1, 1)


async def test_the_silent_one_is_closed_before_a_word_of_the_other_is_shown() -> None:
    silent = SilentProvider(calls(("board_gpio_write", "{}")))
    other = SpeakingProvider(calls(("board_gpio_write", "{}"), text="I turn it on."))
    shown = []
    async with aclosing(raced(silent, other).stream(REQUEST)) as items:
        async for item in items:
            assert silent.closed == 1
            # Nothing that it would say now is read
            silent.goes_on.set()
            shown.append(item)
    (response,) = (item for item in shown if isinstance(item, ChatResponse))
    assert len(response.tool_calls) == 1
    assert response.text == "I turn it on."


async def test_a_service_that_thinks_is_not_silent() -> None:
    thinking, other = ThinkingProvider(), SpeakingProvider(ChatResponse("b"))
    asyncio.get_running_loop().call_later(4 * SILENCE_S, thinking.goes_on.set)
    assert (await raced(thinking, other).chat(REQUEST)).text == "late"
    assert other.asked == 0


async def test_the_first_one_answers_where_it_speaks_first_after_all() -> None:
    silent, other = SilentProvider(), SilentProvider()
    asyncio.get_running_loop().call_later(4 * SILENCE_S, silent.goes_on.set)
    provider = raced(silent, other)
    assert (await provider.chat(REQUEST)).text == "late"
    assert (silent.asked, other.asked, other.closed) == (1, 1, 1)
    # It was asked last, and had no time to speak
    assert [one.circuit.failures for one in provider._candidates] == [0, 0]


async def test_two_are_asked_at_once_and_no_third() -> None:
    first, second, third = SilentProvider(), SilentProvider(), SilentProvider()
    provider = raced(first, second, third)
    asyncio.get_running_loop().call_later(6 * SILENCE_S, second.goes_on.set)
    await provider.chat(REQUEST)
    assert [one.asked for one in (first, second, third)] == [1, 1, 0]


async def test_a_third_is_asked_when_the_second_fails() -> None:
    silent, limited = SilentProvider(), SpeakingProvider(RateLimited("429"))
    third = SpeakingProvider(ChatResponse("c"))
    assert (await raced(silent, limited, third).chat(REQUEST)).text == "c"
    assert (silent.closed, limited.asked, third.asked) == (1, 1, 1)


async def test_zero_never_asks_two_at_once() -> None:
    silent, other = SilentProvider(), SpeakingProvider(ChatResponse("b"))
    asyncio.get_running_loop().call_later(4 * SILENCE_S, silent.goes_on.set)
    assert (await raced(silent, other, beside_after_s=0).chat(REQUEST)).text == "late"
    assert other.asked == 0


async def test_silent_three_times_it_rests() -> None:
    silent, other = SilentProvider(), SpeakingProvider(ChatResponse("b"))
    clock = SteppedClock()
    provider = raced(silent, other, clock=clock)
    for _ in range(FAILURES_TO_OPEN + 1):
        assert (await provider.chat(REQUEST)).text == "b"
    assert (silent.asked, silent.closed) == (FAILURES_TO_OPEN, FAILURES_TO_OPEN)
    assert provider._candidates[0].circuit.state(clock.monotonic_s()) is CircuitState.OPEN


async def test_a_fallback_that_rests_is_not_asked_beside() -> None:
    silent, down = SilentProvider(), SpeakingProvider(ChatResponse("b"))
    provider = raced(silent, down)
    for _ in range(FAILURES_TO_OPEN):
        provider._candidates[1].circuit.failed(0.0)
    asyncio.get_running_loop().call_later(4 * SILENCE_S, silent.goes_on.set)
    assert (await provider.chat(REQUEST)).text == "late"
    assert down.asked == 0


async def test_the_silent_one_is_asked_again_where_the_other_fails_before_its_first_word() -> None:
    silent = SilentProvider()
    failing = SpeakingProvider(TransientProviderError("overloaded"), heard=True)
    asyncio.get_running_loop().call_later(8 * SILENCE_S, silent.goes_on.set)
    assert (await raced(silent, failing).chat(REQUEST)).text == "late"
    assert silent.asked == 2


async def test_whoever_stops_it_stops_both() -> None:
    silent, other = SilentProvider(), SilentProvider()
    asked = asyncio.create_task(raced(silent, other).chat(REQUEST))
    await other.was_asked.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert (silent.closed, other.closed) == (1, 1)


async def test_an_answer_that_is_not_read_to_its_end_is_closed() -> None:
    silent = SilentProvider()
    silent.goes_on.set()
    async with aclosing(raced(silent).stream(REQUEST)) as items:
        assert await anext(items) == TextDelta("late")
    assert silent.closed == 1


async def test_a_long_attempt_is_not_repeated() -> None:
    clock = SteppedClock()

    class SlowlyFailingProvider(SpeakingProvider):
        """Fails after its time limit."""

        async def chat(self, request: ChatRequest) -> ChatResponse:
            clock.advance(LONG_ATTEMPT_S)
            return await super().chat(request)

    slow = SlowlyFailingProvider(TransientProviderError("did not answer within 30 s"))
    with pytest.raises(TransientProviderError, match="did not answer"):
        await raced(slow, clock=clock).chat(REQUEST)
    assert slow.asked == 1
    assert clock.slept_s == []
