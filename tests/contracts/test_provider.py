"""Every wire format under one suite, each with streams in its vendor's words."""

from collections.abc import Awaitable, Callable

import pytest

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    TransientProviderError,
)
from agent.providers.anthropic.wire import AnthropicWire
from agent.providers.completions.wire import CompletionsWire
from agent.providers.gemini.wire import GeminiWire
from agent.providers.ollama.wire import OllamaWire
from agent.providers.responses.wire import ResponsesWire
from tests.contracts.provider import (
    EVERY_WIRE,
    NO_ARGUMENTS,
    TEXT,
    WRITE,
    WireCase,
)
from tests.fakes import (
    anthropic_stream,
    gemini_service,
    llm_server,
    ollama_service,
    responses_stream,
)
from tests.fakes.llm_server import JSON, Reply, failed

CALLS = (WRITE, NO_ARGUMENTS)


def completions() -> WireCase:
    stream = llm_server.sse(*llm_server.events(TEXT, CALLS))
    broken = llm_server.events(TEXT)[:3]
    return WireCase(
        CompletionsWire(),
        stream,
        stream.index(b'"finish_reason":"tool_calls"'),
        llm_server.sse(*llm_server.events(TEXT)),
        llm_server.whole(TEXT, *CALLS).body,
        llm_server.sse(*broken, {"error": {"message": "overloaded", "code": 503}}, done=False),
        (
            (failed(401, "Incorrect API key provided"), KeyRefused),
            (failed(429, "Rate limit reached"), RateLimited),
            (failed(429, "quota", code="insufficient_quota"), QuotaExhausted),
            (failed(400, "too long", code="context_length_exceeded"), ContextOverflow),
            (failed(400, "unknown parameter: tools"), ToolsUnsupported),
            (failed(404, "The model does not exist"), ProviderRefused),
            (failed(503, "overloaded"), TransientProviderError),
        ),
    )


def anthropic() -> WireCase:
    stream = anthropic_stream.sse(*anthropic_stream.events(TEXT, CALLS))
    broken = anthropic_stream.events(TEXT)[:4]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    def refused(status: int, kind: str, message: str) -> Reply:
        body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}
        return Reply(llm_server.sse(body, done=False)[6:], status, JSON)

    return WireCase(
        AnthropicWire(),
        stream,
        stream.index(b'"stop_reason"'),
        anthropic_stream.sse(*anthropic_stream.events(TEXT)),
        anthropic_stream.whole(TEXT, CALLS),
        anthropic_stream.sse(*broken, overloaded),
        (
            (refused(401, "authentication_error", "invalid x-api-key"), KeyRefused),
            (refused(429, "rate_limit_error", "Number of requests"), RateLimited),
            (refused(529, "overloaded_error", "Overloaded"), TransientProviderError),
            (
                refused(400, "invalid_request_error", "prompt is too long: 210000 tokens"),
                ContextOverflow,
            ),
            (refused(413, "request_too_large", "Request exceeds the maximum"), ContextOverflow),
            (
                refused(400, "invalid_request_error", "Your credit balance is too low"),
                QuotaExhausted,
            ),
            (refused(404, "not_found_error", "model: claude-none"), ProviderRefused),
        ),
    )


def gemini() -> WireCase:
    stream = gemini_service.sse(*gemini_service.chunks(TEXT, CALLS, signed=True))
    broken = gemini_service.chunks(TEXT)[:3]
    refused = gemini_service.failed
    quota = "You exceeded your current quota, please check your plan and billing details."
    too_long = "The input token count (1200000) exceeds the maximum number of tokens (1048576)."
    bad_key = gemini_service.because("API_KEY_INVALID")
    later = gemini_service.asks_to_wait("34s")
    no_tools = "Function calling is not enabled for models/gemma-3-1b"
    unknown = "models/fake is not found for API version v1beta"
    return WireCase(
        GeminiWire(),
        stream,
        stream.index(b'"finishReason"'),
        gemini_service.sse(*gemini_service.chunks(TEXT)),
        gemini_service.whole(TEXT, CALLS),
        gemini_service.sse(*broken, {"error": {"code": 503, "status": "UNAVAILABLE"}}),
        (
            (refused(400, "INVALID_ARGUMENT", "API key not valid.", bad_key), KeyRefused),
            (refused(403, "PERMISSION_DENIED", "The caller does not have permission"), KeyRefused),
            (refused(429, "RESOURCE_EXHAUSTED", quota, later), RateLimited),
            (refused(429, "RESOURCE_EXHAUSTED", quota), QuotaExhausted),
            (refused(400, "INVALID_ARGUMENT", too_long), ContextOverflow),
            (refused(400, "INVALID_ARGUMENT", no_tools), ToolsUnsupported),
            (refused(404, "NOT_FOUND", unknown), ProviderRefused),
            (refused(503, "UNAVAILABLE", "The model is overloaded."), TransientProviderError),
        ),
    )


def ollama() -> WireCase:
    stream = ollama_service.ndjson(*ollama_service.lines(TEXT, CALLS))
    broken = ollama_service.lines(TEXT)[:3]
    refused = ollama_service.failed
    return WireCase(
        OllamaWire(8192),
        stream,
        stream.index(b'"done": true'),
        ollama_service.ndjson(*ollama_service.lines(TEXT)),
        ollama_service.whole(TEXT, CALLS),
        ollama_service.ndjson(*broken, {"error": "an error was encountered while running"}),
        (
            (refused(401, "unauthorized"), KeyRefused),
            (refused(404, 'model "fake" not found, try pulling it first'), ProviderRefused),
            (
                refused(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
                ToolsUnsupported,
            ),
            (
                refused(
                    400,
                    "the prompt is longer than the context length currently available to the "
                    "model; shorten the prompt, adjust the context length in settings",
                ),
                ContextOverflow,
            ),
            (refused(400, "the input length exceeds the context length"), ContextOverflow),
            (
                refused(400, "request (9000 tokens) exceeds the available context size (8192)"),
                ContextOverflow,
            ),
            (refused(429, "you've reached your hourly usage limit"), RateLimited),
            (refused(500, "llama runner process has terminated"), TransientProviderError),
        ),
        content_type=ollama_service.NDJSON,
        gives_ids=False,
    )


def responses() -> WireCase:
    stream = responses_stream.sse(*responses_stream.events(TEXT, CALLS))
    broken = responses_stream.events(TEXT)[:4]
    error = {"type": "error", "code": "server_error", "message": "overloaded", "param": None}
    return WireCase(
        ResponsesWire(),
        stream,
        stream.index(b"data: ", stream.index(b"event: response.completed")),
        responses_stream.sse(*responses_stream.events(TEXT)),
        responses_stream.whole(TEXT, CALLS),
        responses_stream.sse(*broken, error),
        (
            (failed(401, "Incorrect API key provided"), KeyRefused),
            (failed(429, "Rate limit reached"), RateLimited),
            (failed(429, "quota", code="insufficient_quota"), QuotaExhausted),
            (failed(400, "too long", code="context_length_exceeded"), ContextOverflow),
            (failed(404, "The model does not exist"), ProviderRefused),
            (failed(500, "oops"), TransientProviderError),
        ),
    )


CASES = {case.__name__: case() for case in (completions, responses, anthropic, gemini, ollama)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("holds", EVERY_WIRE, ids=lambda holds: holds.__name__)
async def test_every_wire(name: str, holds: Callable[[WireCase], Awaitable[None]]) -> None:
    await holds(CASES[name])
