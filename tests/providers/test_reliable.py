import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    TransientProviderError,
)
from agent.messages import ChatMessage, Role, ToolCall
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason, TextDelta
from agent.providers.candidate import (
    COOL_DOWN_S,
    LONE_COOL_DOWN_S,
    LONE_REFUSED_S,
    REFUSED_S,
    ModelCandidate,
)
from agent.providers.circuit_breaker import FAILURES_TO_OPEN, FIRST_REST_S, CircuitState
from agent.providers.reliable import ATTEMPTS, MOST_ASKED_S, ReliableProvider
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import CutStreamProvider
from tests.fakes.said import assistant_said, system_said, tool_said, user_said

REQUEST = ChatRequest((user_said("hi"),))
DOWN = TransientProviderError("down")


class MoodyProvider(Provider):
    """Gives answers and errors in their order, the last one for ever."""

    def __init__(self, *script: ChatResponse | ProviderError | str) -> None:
        self._script = list(script)
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        following = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(following, ProviderError):
            raise following
        return ChatResponse(following) if isinstance(following, str) else following


def reliable(
    clock: SteppedClock, *services: Sequence[Provider], models: Sequence[str | None] = ()
) -> ReliableProvider:
    """A chain of services, each a list of ways by key."""
    named = [*models, *[None] * len(services)]
    candidates = [
        ModelCandidate(f"s{number}", ways, named[number]) for number, ways in enumerate(services)
    ]
    return ReliableProvider(candidates, clock, random.Random(1))


async def text_of(provider: Provider, request: ChatRequest = REQUEST) -> str:
    return (await provider.chat(request)).text


async def test_an_answer_at_once_costs_one_request_and_no_time() -> None:
    clock, service = SteppedClock(), MoodyProvider("hello")
    assert await text_of(reliable(clock, [service])) == "hello"
    assert (len(service.requests), clock.slept_s) == (1, [])


async def test_an_accident_is_tried_again_after_a_growing_pause() -> None:
    clock, service = SteppedClock(), MoodyProvider(DOWN, DOWN, "hello")
    assert await text_of(reliable(clock, [service])) == "hello"
    first_s, second_s = clock.slept_s
    assert 0.25 <= first_s <= 0.5 <= second_s <= 1.0


async def test_a_success_is_one_also_for_somebody_who_asks_for_nothing_after_it() -> None:
    clock, service = SteppedClock(), MoodyProvider(*[DOWN, "hello"] * FAILURES_TO_OPEN)
    provider = reliable(clock, [service])
    for _ in range(FAILURES_TO_OPEN):
        async with aclosing(provider.stream(REQUEST)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    break
    circuit = provider._candidates[0].circuit
    assert (circuit.failures, circuit.state(clock.monotonic_s())) == (0, CircuitState.CLOSED)


async def test_a_service_that_stays_down_is_given_up_with_its_own_words() -> None:
    clock, service = SteppedClock(), MoodyProvider(DOWN)
    with pytest.raises(TransientProviderError, match=r"^down$"):
        await text_of(reliable(clock, [service]))
    assert len(service.requests) == ATTEMPTS


async def test_the_wait_that_a_service_asks_for_is_kept() -> None:
    busy = TransientProviderError("busy", retry_after_s=7.0)
    clock, service = SteppedClock(), MoodyProvider(busy, "hello")
    assert await text_of(reliable(clock, [service])) == "hello"
    assert clock.slept_s == [7.0]


async def test_a_wait_of_hours_is_not_kept() -> None:
    busy = TransientProviderError("busy", retry_after_s=7200.0)
    clock, service = SteppedClock(), MoodyProvider(busy, "hello")
    await text_of(reliable(clock, [service]))
    assert clock.slept_s == [MOST_ASKED_S]


@pytest.mark.parametrize("err", [RateLimited("429"), KeyRefused("401"), QuotaExhausted("402")])
async def test_the_next_key_is_really_used_when_one_is_refused(err: ProviderError) -> None:
    clock, first, second = SteppedClock(), MoodyProvider(err), MoodyProvider("a", "b")
    provider = reliable(clock, [first, second])
    assert await text_of(provider) == "a"
    assert await text_of(provider) == "b"
    assert (len(first.requests), len(second.requests), clock.slept_s) == (1, 2, [])


async def test_the_next_key_is_asked_at_once_when_the_service_fails_for_one() -> None:
    clock, first, second = SteppedClock(), MoodyProvider(DOWN), MoodyProvider("a", "b")
    provider = reliable(clock, [first, second])
    assert [await text_of(provider), await text_of(provider)] == ["a", "b"]
    assert (len(first.requests), len(second.requests), clock.slept_s) == (1, 2, [])


async def test_a_service_that_fails_for_every_key_is_asked_three_times_with_a_pause() -> None:
    clock, first, second = SteppedClock(), MoodyProvider(DOWN), MoodyProvider(DOWN)
    with pytest.raises(TransientProviderError, match="down"):
        await text_of(reliable(clock, [first, second]))
    assert len(first.requests) + len(second.requests) == ATTEMPTS
    assert len(clock.slept_s) == 1


async def test_a_key_that_was_asked_too_often_has_its_turn_again() -> None:
    clock = SteppedClock()
    first, second = MoodyProvider(RateLimited("429"), "a"), MoodyProvider(RateLimited("429"))
    provider = reliable(clock, [first, second])
    assert await text_of(provider) == "a"
    assert clock.slept_s == [COOL_DOWN_S]


async def test_a_lone_key_that_is_asked_too_often_says_so_after_seconds() -> None:
    clock = SteppedClock()
    busy = MoodyProvider(*[RateLimited("asked too often")] * 4)
    with pytest.raises(RateLimited, match="asked too often"):
        await text_of(reliable(clock, [busy]))
    # A person waits, and hears what it is about
    assert sum(clock.slept_s) <= 3 * LONE_COOL_DOWN_S


@pytest.mark.parametrize("keys", [1, 2])
async def test_a_limit_that_is_told_to_be_over_is_not_asked_about_for_ever(keys: int) -> None:
    over = RateLimited("429", retry_after_s=0.0)
    clock, busy = SteppedClock(), [MoodyProvider(*[over] * 20, "at last") for _ in range(keys)]
    with pytest.raises(RateLimited, match="429"):
        await text_of(reliable(clock, busy))
    assert sum(len(one.requests) for one in busy) <= keys + ATTEMPTS


async def test_keys_that_have_rested_by_the_time_of_their_turn_are_not_asked_for_ever() -> None:
    clock = SteppedClock()

    class SlowProvider(MoodyProvider):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            clock.advance(2.0)
            return await super().chat(request)

    busy = [SlowProvider(*[RateLimited("429", retry_after_s=1.0)] * 20, "at last") for _ in "ab"]
    with pytest.raises(RateLimited, match="429"):
        await text_of(reliable(clock, busy))
    assert sum(len(one.requests) for one in busy) <= 2 + ATTEMPTS


async def test_a_refused_key_rests_for_minutes_while_another_one_is_of_use() -> None:
    clock = SteppedClock()
    refused, other = MoodyProvider(KeyRefused("no"), "hello"), MoodyProvider("b")
    provider = reliable(clock, [refused, other])
    assert await text_of(provider) == "b"
    clock.advance(REFUSED_S / 2)
    assert await text_of(provider) == "b"
    assert len(refused.requests) == 1


async def test_the_only_key_is_asked_again_as_soon_as_a_person_asks_again() -> None:
    clock, service = SteppedClock(), MoodyProvider(KeyRefused("no"), "hello")
    provider = reliable(clock, [service])
    with pytest.raises(KeyRefused, match="no"):
        await text_of(provider)
    assert await text_of(provider) == "hello"
    assert sum(clock.slept_s) <= LONE_REFUSED_S


async def test_another_service_answers_at_once_for_one_with_a_limit() -> None:
    clock, limited, other = SteppedClock(), MoodyProvider(RateLimited("429")), MoodyProvider("b")
    assert await text_of(reliable(clock, [limited], [other])) == "b"
    assert clock.slept_s == []


@pytest.mark.parametrize("err", [DOWN, ProviderRefused("bad request"), KeyRefused("401")])
async def test_the_next_service_is_asked_with_its_own_model(err: ProviderError) -> None:
    first, second = MoodyProvider(err), MoodyProvider("b")
    provider = reliable(SteppedClock(), [first], [second], models=[None, "small"])
    assert await text_of(provider) == "b"
    assert second.requests[0].model == "small"
    assert first.requests[0].model is None


async def test_a_request_that_is_wrong_is_not_repeated() -> None:
    clock, service = SteppedClock(), MoodyProvider(ProviderRefused("bad request"))
    with pytest.raises(ProviderRefused, match="bad request"):
        await text_of(reliable(clock, [service]))
    assert (len(service.requests), clock.slept_s) == (1, [])


async def test_every_failure_is_told_and_the_sum_is_transient_if_one_is() -> None:
    provider = reliable(
        SteppedClock(), [MoodyProvider(DOWN)], [MoodyProvider(ProviderRefused("no such model"))]
    )
    with pytest.raises(TransientProviderError, match="s0: down; s1: no such model"):
        await text_of(provider)


async def test_a_service_that_keeps_failing_rests_and_then_is_tried_once() -> None:
    clock, broken, other = SteppedClock(), MoodyProvider(DOWN), MoodyProvider("b")
    provider = reliable(clock, [broken], [other])
    for _ in range(3):
        await text_of(provider)
    assert len(broken.requests) == FAILURES_TO_OPEN
    clock.advance(FIRST_REST_S)
    await text_of(provider)
    assert len(broken.requests) == FAILURES_TO_OPEN + 1


async def test_a_service_that_rests_is_asked_when_nobody_else_is_left() -> None:
    clock, service = SteppedClock(), MoodyProvider(DOWN, DOWN, DOWN, "back")
    provider = reliable(clock, [service])
    with pytest.raises(TransientProviderError):
        await text_of(provider)
    assert await text_of(provider) == "back"


async def test_an_answer_that_has_begun_is_never_asked_for_again() -> None:
    other = MoodyProvider("b")
    provider = reliable(SteppedClock(), [CutStreamProvider(["The "])], [other])
    shown: list[TextDelta | ChatResponse] = []
    with pytest.raises(ProviderError, match="cut"):
        shown.extend([item async for item in provider.stream(REQUEST)])
    assert other.requests == []


def conversation(turns: int) -> tuple[ChatMessage, ...]:
    call = ToolCall("c", "lamp", "{}")
    said = [
        (
            user_said(f"q{n}"),
            assistant_said("", (call,)),
            tool_said(call, "x" * 9000),
            assistant_said(f"a{n}"),
        )
        for n in range(turns)
    ]
    return (system_said("s"), *(message for turn in said for message in turn))


async def test_a_conversation_that_is_too_long_is_cut_at_a_turns_beginning() -> None:
    service = MoodyProvider(ContextOverflow("too long"), "hello")
    provider = reliable(SteppedClock(), [service])
    assert await text_of(provider, ChatRequest(conversation(5))) == "hello"
    kept = service.requests[1].messages
    assert kept == (conversation(5)[0], *conversation(5)[13:])
    assert kept[1].role is Role.USER


async def test_the_only_turn_has_its_long_results_cut() -> None:
    service = MoodyProvider(ContextOverflow("too long"), "hello")
    await text_of(reliable(SteppedClock(), [service]), ChatRequest(conversation(1)))
    kept = service.requests[1].messages
    assert [message.role for message in kept] == [m.role for m in conversation(1)]
    assert len(kept[3].text) < 2500


async def test_a_conversation_that_stays_too_long_is_refused() -> None:
    service = MoodyProvider(ContextOverflow("too long"))
    provider = reliable(SteppedClock(), [service])
    with pytest.raises(ContextOverflow):
        await text_of(provider, ChatRequest(conversation(8)))
    # Eight turns, four, two, one, and the one with its results cut
    assert len(service.requests) == 5
    with pytest.raises(ContextOverflow):
        await text_of(provider)


async def test_an_answer_to_a_shortened_conversation_says_so() -> None:
    service = MoodyProvider(ContextOverflow("too long"), "hello", "hello")
    provider = reliable(SteppedClock(), [service])
    request = ChatRequest(conversation(5))
    assert (await provider.chat(request)).was_shortened
    assert not (await provider.chat(request)).was_shortened


async def test_an_answer_that_the_window_cut_says_so() -> None:
    provider = reliable(SteppedClock(), [MoodyProvider(ChatResponse("hel", was_shortened=True))])
    assert (await provider.chat(ChatRequest(conversation(1)))).was_shortened


async def test_an_empty_answer_is_asked_for_again() -> None:
    service = MoodyProvider(ChatResponse(""), "hello")
    assert await text_of(reliable(SteppedClock(), [service])) == "hello"
    withheld = MoodyProvider(ChatResponse("", stop=StopReason.REFUSED))
    assert await text_of(reliable(SteppedClock(), [withheld])) == ""
    assert len(withheld.requests) == 1


async def test_text_streams_through() -> None:
    class Streaming(MoodyProvider):
        async def stream(
            self, request: ChatRequest
        ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
            yield TextDelta("a")
            yield TextDelta("b")
            yield ChatResponse("ab")

    provider = reliable(SteppedClock(), [Streaming("")])
    items = [item async for item in provider.stream(REQUEST)]
    assert items == [TextDelta("a"), TextDelta("b"), ChatResponse("ab")]
