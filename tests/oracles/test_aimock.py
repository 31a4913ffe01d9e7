"""Our providers against model services that others pretend, faults included.

What it cannot do and our own servers do: the wait as a date, an error in the middle of a stream,
thoughts and their signatures, a cut at any byte, and a list of models for every service.
"""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from agent.config import Secret
from agent.errors import ProviderError, RateLimited, TransientProviderError
from agent.messages import Effect
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason, TextDelta
from agent.providers.candidate import ModelCandidate
from agent.providers.create import service_provider
from agent.providers.reader import RequestTimeouts
from agent.providers.reliable import ATTEMPTS, ReliableProvider
from agent.providers.service import ServiceProvider
from agent.providers.settings import ProviderSettings
from tests.fakes import aimock_server
from tests.fakes.clock import SteppedClock
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

# A service of the catalog for each wire format, and what its address has after the host
SERVICES = {
    "openai": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/v1",
    "gemini": "/v1beta",
    "ollama": "/api",
}
TOOLS = (
    spec_of(
        "board_gpio_write",
        "Sets a pin.",
        {
            "type": "object",
            "properties": {"pin": {"type": "string"}, "value": {"type": "string"}},
            "required": ["pin", "value"],
        },
        Effect.ACTUATE,
    ),
)
GREETING = "Gern! 好的,打开灯 💡 — fertig."
# Their calls are sent in one piece
WHOLE_CALLS = frozenset({"gemini", "ollama"})
# The fixture asks for it
ASKED_WAIT_S = 7.0
pytestmark = pytest.mark.parametrize("service", SERVICES)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if reason := aimock_server.absence():
        pytest.skip(reason)
    with aimock_server.running() as url:
        yield url


@asynccontextmanager
async def asking(
    address: str, service: str, patience: RequestTimeouts | None = None
) -> AsyncIterator[ServiceProvider[Any]]:
    http = HttpClient()
    settings = ProviderSettings(
        kind=service,
        base_url=address + SERVICES[service],
        model="fake-model",
        api_key=Secret("canary"),
    )
    try:
        yield service_provider(settings, {}, http, patience)
    finally:
        await http.aclose()


def said(text: str) -> ChatRequest:
    return ChatRequest((system_said("Be brief."), user_said(text)), TOOLS)


async def heard(provider: Provider, text: str) -> tuple[list[str], ChatResponse | ProviderError]:
    """The pieces as they came, and how it ended."""
    pieces: list[str] = []
    try:
        async with aclosing(provider.stream(said(text))) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    pieces.append(item.text)
                else:
                    return pieces, item
    except ProviderError as err:
        return pieces, err
    raise AssertionError("the stream ended without a response")


async def test_an_answer_comes_in_pieces_and_whole(address: str, service: str) -> None:
    async with asking(address, service) as provider:
        pieces, ended = await heard(provider, "say hello")
    assert isinstance(ended, ChatResponse), ended
    assert len(pieces) > 1
    assert "".join(pieces) == ended.text == GREETING
    assert ended.stop is StopReason.END
    assert ended.tool_calls == ()


async def test_a_tool_is_called_and_its_result_understood(address: str, service: str) -> None:
    async with asking(address, service) as provider:
        asked = said("turn the led on")
        called = await provider.chat(asked)
        [call] = called.tool_calls
        assert (call.name, called.stop) == ("board_gpio_write", StopReason.TOOLS)
        assert call.arguments_json.replace(" ", "") == '{"pin":"led","value":"on"}'
        so_far = (
            *asked.messages,
            assistant_said(called.text, called.tool_calls, called.echo),
            tool_said(call, '{"pin":"led","value":"on"}'),
        )
        answer = await provider.chat(ChatRequest(so_far, TOOLS))
    assert answer.text == "The led is on."


async def test_the_wait_that_a_limit_names_is_kept(address: str, service: str) -> None:
    clock = SteppedClock()
    async with asking(address, service) as provider:
        chain = ReliableProvider([ModelCandidate(service, [provider])], clock, random.Random(1))
        _, ended = await heard(chain, "too often")
    assert isinstance(ended, RateLimited), ended
    assert ended.retry_after_s == ASKED_WAIT_S
    assert clock.slept_s == [ASKED_WAIT_S] * (ATTEMPTS - 1)


async def test_an_overloaded_service_is_asked_again_later(address: str, service: str) -> None:
    clock = SteppedClock()
    async with asking(address, service) as provider:
        chain = ReliableProvider([ModelCandidate(service, [provider])], clock, random.Random(1))
        _, ended = await heard(chain, "overloaded")
    assert isinstance(ended, TransientProviderError), ended
    assert not isinstance(ended, RateLimited)
    assert len(clock.slept_s) == ATTEMPTS - 1


async def test_a_cut_answer_is_shown_so_far_and_never_taken_for_whole(
    address: str, service: str
) -> None:
    async with asking(address, service) as provider:
        pieces, ended = await heard(provider, "cut off")
    assert isinstance(ended, TransientProviderError), ended
    assert "This answer is cut off before it has come to its end.".startswith("".join(pieces))


async def test_half_a_call_is_no_call(address: str, service: str) -> None:
    async with asking(address, service) as provider:
        asked = "cut at once" if service in WHOLE_CALLS else "cut the call"
        _, ended = await heard(provider, asked)
    assert isinstance(ended, TransientProviderError), ended


async def test_a_slow_answer_is_waited_for(address: str, service: str) -> None:
    async with asking(address, service) as provider:
        pieces, ended = await heard(provider, "slowly")
    assert isinstance(ended, ChatResponse), ended
    assert "".join(pieces) == "Slow is smooth."


async def test_an_answer_that_never_comes_is_given_up(address: str, service: str) -> None:
    patience = RequestTimeouts(5.0, first_byte_s=0.3, between_bytes_s=0.3)
    async with asking(address, service, patience) as provider:
        _, ended = await heard(provider, "never")
    assert isinstance(ended, TransientProviderError), ended
