"""Our wire against llama.cpp's own server, which serves random weights.

The model knows nothing, so whatever is right of its answers is the work of the server's grammar and
of our schema: noise is the sampler that errs most.
"""

import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from agent.app.probe.service import ServiceCheck, WireVerdict
from agent.errors import ContextOverflow, ProviderError, TransientProviderError
from agent.messages import Effect
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason, TextDelta
from agent.providers.create import chain, service_provider
from agent.providers.prompted.constrained import answer_schema
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider, ToolForm
from agent.providers.service import ServiceProvider
from agent.providers.settings import ProviderSettings
from agent.system.clock import SystemClock
from scripts.lib.bench.language_home import Home
from tests.fakes import llama_server
from tests.fakes.said import spec_of, system_said, user_said

pytestmark = [
    pytest.mark.skipif(bool(llama_server.absence()), reason=llama_server.absence()),
    pytest.mark.timeout(240),
]

WINDOW = 2048
WRITE = spec_of(
    "board_gpio_write",
    "Switch an output.",
    {
        "type": "object",
        "properties": {
            "pin": {"type": "string", "enum": ["led", "pump"]},
            "value": {"type": "string", "enum": ["off", "on"]},
            "for_seconds": {"type": "integer", "minimum": 0, "maximum": 600},
        },
        "required": ["pin", "value"],
        "additionalProperties": False,
    },
    Effect.ACTUATE,
)
INFO = spec_of("board_info", "Pins.", {"type": "object", "properties": {}}, Effect.READ)
FIND = spec_of(
    "memory_recall",
    "Search.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 2000, "pattern": "[a-z]+"},
            "kinds": {"type": "array", "items": {"enum": ["core", "daily"]}, "maxItems": 5},
        },
        "required": ["query"],
    },
    Effect.READ,
)
TOOLS = (WRITE, INFO, FIND)
SAID = (system_said("You are Barnacle."), user_said("turn the led on"))
# As many as take half a minute
ANSWERS = 30


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server.running(tmp_path_factory.mktemp("llama"), WINDOW) as url:
        yield url


def settings(address: str, **more: object) -> ProviderSettings:
    fields = {"kind": "llamacpp", "base_url": address, "model": "tiny", "temperature": 1.5}
    return ProviderSettings(**{**fields, **more})  # type: ignore[arg-type]  # a table of fields


@asynccontextmanager
async def service(address: str, **more: object) -> AsyncIterator[ServiceProvider[object]]:
    http = HttpClient()
    try:
        yield service_provider(settings(address, **more), {}, http)
    finally:
        await http.aclose()


async def told(provider: Provider, request: ChatRequest) -> tuple[str, ChatResponse]:
    """Return what was shown, and the response."""
    pieces = []
    async for item in provider.stream(request):
        if isinstance(item, TextDelta):
            pieces.append(item.text)
            continue
        return "".join(pieces), item
    raise AssertionError("no response")


async def first_of(model: Provider, request: ChatRequest) -> ChatResponse:
    """Return the first answer of a few tries.

    The server refuses noise that it cannot parse itself, and ends a connection after 100 requests.
    """
    for _ in range(5):
        with contextlib.suppress(TransientProviderError):
            return (await told(model, request))[1]
    raise AssertionError("five answers that the server could not read")


async def test_an_answer_streams_with_its_counts(address: str) -> None:
    async with service(address, max_tokens=24) as model:
        shown, response = await told(model, ChatRequest(SAID))
    assert shown == response.text
    assert response.stop in {StopReason.LENGTH, StopReason.END}
    assert response.usage.input_tokens > 20
    assert 0 < response.usage.output_tokens <= 24


async def test_the_models_are_listed(address: str) -> None:
    async with service(address) as model:
        assert await model.list_models() == ("tiny",)


async def test_tools_are_taken_natively_with_our_schemas(address: str) -> None:
    async with service(address, max_tokens=24) as model:
        _, response = await told(model, ChatRequest(SAID, TOOLS))
    assert response.usage.input_tokens > 200


async def test_a_long_conversation_is_refused_with_the_window_which_is_learnt(address: str) -> None:
    async with service(address) as model:
        assert model.capabilities().context_tokens is None
        with pytest.raises(ContextOverflow) as refused:
            await told(model, ChatRequest((*SAID, user_said("long " * 2000))))
        assert refused.value.window_tokens == WINDOW
        assert model.capabilities().context_tokens == WINDOW


def is_valid(name: str, arguments_json: str) -> bool:
    arguments = json.loads(arguments_json)
    if name == "board_gpio_write":
        seconds = arguments.get("for_seconds", 0)
        is_known = arguments["pin"] in {"led", "pump"} and arguments["value"] in {"off", "on"}
        return is_known and isinstance(seconds, int) and 0 <= seconds <= 600
    if name == "memory_recall":
        return isinstance(arguments["query"], str) and {*arguments.get("kinds", ())} <= {
            "core",
            "daily",
        }
    return name == "board_info" and isinstance(arguments, dict)


async def test_noise_cannot_write_an_invalid_call(address: str) -> None:
    """Every finished answer of a random model is an answer or a valid call."""
    finished = calls = cut = 0
    async with service(address, max_tokens=120) as model:
        held = PromptedProvider(model, "tiny", ToolForms(SystemClock()), ToolForm.GRAMMAR)
        for _ in range(ANSWERS):
            try:
                shown, response = await told(held, ChatRequest(SAID, TOOLS))
            except ProviderError:
                # Cut in the middle of a string that never ended: nothing runs
                cut += 1
                continue
            finished += 1
            calls += len(response.tool_calls)
            assert '"calls"' not in shown
            for call in response.tool_calls:
                assert is_valid(call.name, call.arguments_json), call
    # Shown by `pytest -rA`
    logging.getLogger(__name__).warning(
        "noise: %d answers, %d used, %d calls, all valid, %d cut", ANSWERS, finished, calls, cut
    )
    assert finished
    assert calls


async def test_the_same_noise_without_a_grammar_calls_nothing(address: str) -> None:
    async with service(address, max_tokens=120) as model:
        free = PromptedProvider(model, "tiny", ToolForms(SystemClock()), ToolForm.WORDS)
        for _ in range(5):
            response = await first_of(free, ChatRequest(SAID, TOOLS))
            assert response.tool_calls == ()


async def test_the_schema_of_every_tool_is_one_that_the_server_takes(address: str) -> None:
    tools = (*TOOLS, *Home.of("HassTurnOn", {}).tools)
    assert len(tools) > 15
    async with service(address, max_tokens=64) as model:
        for some in (*((spec,) for spec in tools), tools):
            asked = ChatRequest(SAID, answer_schema=answer_schema(some))
            response = await first_of(model, asked)
            # A schema that was refused would have been left out without a word
            assert re.match(r"\s*(```json)?\s*\{\s*\"(answer|calls)\"", response.text), some


async def test_the_chain_answers_with_this_server(address: str) -> None:
    http = HttpClient()
    try:
        provider = chain(settings(address, max_tokens=16), {}, {}, http, SystemClock())
        shown, response = await told(provider, ChatRequest(SAID))
        assert shown == response.text != ""
    finally:
        await http.aclose()


async def test_the_check_of_a_service_finds_that_it_speaks_as_expected(address: str) -> None:
    async with service(address) as model:
        found = await ServiceCheck(model, "tiny", WINDOW, has_grammar=True).run(lambda _one: None)
    verdicts = {one.subject: one.verdict for one in found}
    # The others depend on what the noise says
    sure = ("list of models", "answer under a schema", "too long a conversation")
    assert [verdicts[subject] for subject in sure] == [WireVerdict.RIGHT] * len(sure), found
    assert len(found) == 7
