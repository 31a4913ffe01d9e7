"""Our requests and the vendors' own, and what the vendors' clients read in our fakes' streams."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from agent.config import Secret
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.create import service_provider
from agent.providers.settings import ProviderSettings
from tests.contracts.provider import KEY, NO_ARGUMENTS, TEXT, WRITE
from tests.contracts.test_provider import CASES
from tests.fakes import anthropic_stream
from tests.fakes.llm_server import LlmServer, Recorded, Reply, running
from tests.fakes.said import assistant_said, tool_said
from tests.oracles import clients
from tests.oracles.clients import Understood

CONTEXT_TOKENS = 8192
ASKING: Mapping[str, object] = {
    "key": KEY,
    "model": "fake-model",
    "max_tokens": 500,
    "temperature": 0.5,
    "context_tokens": CONTEXT_TOKENS,
}


@dataclass(frozen=True)
class Oracle:
    """A wire of ours and the client that speaks the same.

    Args:
        wire: its name, as the contract suite and the catalog have it.
        kind: the service of the catalog that is asked.
        program: which of the programs in `sdk/` sends the conversation.
        base: what our address has after the host; the clients add theirs themselves.
        headers: those that the service decides by, as both send them.
        stop: its word for the end of an answer that calls tools.
    """

    wire: str
    kind: str
    program: str
    base: str
    headers: tuple[str, ...]
    stop: str
    # Fields of ours that the client does not have, each with its reason where it is listed
    unsaid: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Exchange:
    """The same conversation, asked twice."""

    ours: Recorded
    theirs: Recorded
    answer: ChatResponse
    understood: Understood


ORACLES = {
    oracle.wire: oracle
    for oracle in (
        Oracle("completions", "openai", "completions", "/v1", ("authorization",), "tool_calls"),
        Oracle(
            "responses", "openai-responses", "responses", "/v1", ("authorization",), "completed"
        ),
        Oracle(
            "anthropic",
            "anthropic",
            "anthropic_messages",
            "/v1",
            # Since its second edition the client has others: see below
            (),
            "tool_use",
            # The newest models take it no more: it is left out once they have said so
            frozenset({"temperature"}),
        ),
        Oracle("gemini", "gemini", "gemini", "/v1beta", ("x-goog-api-key",), "STOP"),
        # Switches for a prompt that is too long; documented, and too new for the client
        Oracle(
            "ollama", "ollama", "ollama_chat", "/api", (), "stop", frozenset({"truncate", "shift"})
        ),
    )
}
# The other streams have what there is to be sent back
THINKING = anthropic_stream.sse(
    *anthropic_stream.events(TEXT, (WRITE, NO_ARGUMENTS), thinking="The led, then.")
)
# Their JSON takes both spellings of a field, and the client mixes them
_GOOGLES = {"parameters_json_schema": "parametersJsonSchema", "mime_type": "mimeType"}
_exchanges: dict[str, Exchange] = {}


@pytest.fixture(params=ORACLES)
async def exchange(request: pytest.FixtureRequest) -> tuple[Oracle, Exchange]:
    """Made once for each client: they take seconds to load."""
    clients.needed()
    oracle = ORACLES[request.param]
    return oracle, await _exchange(oracle)


async def _exchange(oracle: Oracle) -> Exchange:
    if oracle.wire not in _exchanges:
        _exchanges[oracle.wire] = await _asked_twice(oracle)
    return _exchanges[oracle.wire]


async def _asked_twice(oracle: Oracle) -> Exchange:
    case = CASES[oracle.wire]
    stream = THINKING if oracle.wire == "anthropic" else case.stream
    async with running(Reply(stream, content_type=case.content_type)) as server:
        url = server.base_url.removesuffix("/v1")
        answer = await _ask(oracle, url, clients.REQUEST)
        ours = server.requests[-1]
        await _ask(oracle, url, _with_results(answer))
        bodies = [ours.body, server.requests[-1].body]
        understood = await clients.asked(oracle.program, url, {**ASKING, "ours": bodies})
        return Exchange(ours, _last_post(server), answer, understood)


def _with_results(answer: ChatResponse) -> ChatRequest:
    """What is asked next: thoughts and signatures go back with the results."""
    said = assistant_said(answer.text, answer.tool_calls, answer.echo)
    results = (tool_said(call, "done") for call in answer.tool_calls)
    return replace(clients.REQUEST, messages=(*clients.MESSAGES, said, *results))


async def _ask(oracle: Oracle, url: str, request: ChatRequest) -> ChatResponse:
    http = HttpClient()
    settings = ProviderSettings(
        kind=oracle.kind,
        base_url=url + oracle.base,
        model="fake-model",
        api_key=Secret(KEY),
        max_tokens=500,
        temperature=0.5,
        context_tokens=CONTEXT_TOKENS,
    )
    try:
        return await service_provider(settings, {}, http).chat(request)
    finally:
        await http.aclose()


def _last_post(server: LlmServer) -> Recorded:
    return [request for request in server.requests if request.method == "POST"][-1]


def test_a_request_says_what_the_vendors_client_says(exchange: tuple[Oracle, Exchange]) -> None:
    oracle, asked = exchange
    ours = {key: value for key, value in asked.ours.body.items() if key not in oracle.unsaid}
    assert _canonical(ours) == _canonical(asked.theirs.body)
    assert asked.ours.path == asked.theirs.path, oracle


def test_a_key_is_shown_as_the_vendors_client_shows_it(exchange: tuple[Oracle, Exchange]) -> None:
    oracle, asked = exchange
    for name in (*oracle.headers, "content-type"):
        assert asked.ours.headers[name] == asked.theirs.headers[name], name
    assert KEY not in asked.ours.path


async def test_anthropic_is_asked_as_its_interface_is_documented() -> None:
    """Its client has moved to a newer version; the day the service follows, this is to be too."""
    clients.needed()
    asked = await _exchange(ORACLES["anthropic"])
    ours, theirs = asked.ours.headers, asked.theirs.headers
    assert (ours["x-api-key"], ours["anthropic-version"]) == (KEY, "2023-06-01")
    assert theirs["authorization"] == f"bearer {KEY}"
    assert theirs["anthropic-version"] == "2026-10-21"


def test_the_vendors_types_know_every_field_of_a_request_and_of_the_next(
    exchange: tuple[Oracle, Exchange],
) -> None:
    oracle, asked = exchange
    told = {f"('{name}',): Extra inputs are not permitted" for name in oracle.unsaid}
    assert set(asked.understood.problems) == told


def test_the_vendors_client_reads_in_the_fake_stream_what_we_read(
    exchange: tuple[Oracle, Exchange],
) -> None:
    oracle, asked = exchange
    ours = asked.answer
    theirs = asked.understood
    assert theirs.text == ours.text == TEXT
    called = [(call.name, json.loads(call.arguments_json)) for call in ours.tool_calls]
    assert [call[1:] for call in theirs.calls] == called
    assert called == [(call.name, json.loads(call.arguments)) for call in (WRITE, NO_ARGUMENTS)]
    if CASES[oracle.wire].gives_ids:
        assert [call[0] for call in theirs.calls] == [call.call_id for call in ours.tool_calls]
    assert theirs.stop == oracle.stop
    assert theirs.output_tokens == ours.usage.output_tokens


def test_tokens_sent_are_counted_as_the_vendors_client_counts_them(
    exchange: tuple[Oracle, Exchange],
) -> None:
    oracle, asked = exchange
    usage = asked.answer.usage
    sent = usage.input_tokens
    if oracle.wire == "anthropic":
        # Theirs leaves out what the cache had
        sent -= usage.cached_tokens + usage.cache_write_tokens
    assert sent == asked.understood.input_tokens


def _canonical(value: Any, key: str = "") -> Any:
    """The same meaning in the same form: what both sides may write in two ways."""
    if isinstance(value, dict):
        plain = {_GOOGLES.get(name, name): _canonical(item, name) for name, item in value.items()}
        return {name: item for name, item in plain.items() if not _says_nothing(name, item)}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if key == "data":
        # Two alphabets of Base64
        return base64.urlsafe_b64decode(value.replace("+", "-").replace("/", "_"))
    return value


def _says_nothing(name: str, value: object) -> bool:
    # A tool without arguments, said by leaving its schema out or by an empty one
    return name == "parametersJsonSchema" and value == {"type": "object", "properties": {}}
