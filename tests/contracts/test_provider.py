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
from tests.contracts.provider import (
    EVERY_WIRE,
    NO_ARGUMENTS,
    TEXT,
    WRITE,
    WireCase,
)
from tests.fakes import anthropic_stream, llm_server
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


CASES = {case.__name__: case() for case in (completions, anthropic)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("holds", EVERY_WIRE, ids=lambda holds: holds.__name__)
async def test_every_wire(name: str, holds: Callable[[WireCase], Awaitable[None]]) -> None:
    await holds(CASES[name])
