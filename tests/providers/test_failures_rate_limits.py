"""Headers of services that tell when a limit is renewed, as their documentation writes them."""

import json

import pytest

from agent.errors import ContextOverflow, ProviderError, RateLimited
from agent.providers.failures import ServiceRefusal, ServiceTarget, explain, renewal_wait_s
from agent.security.redact import Redactor

NOW_S = 1_795_000_000.0

OPENAI = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "6m0s",
}
GROQ = {
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "2m59.56s",
    "x-ratelimit-remaining-tokens": "17997",
    "x-ratelimit-reset-tokens": "7.66s",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2026-11-18T11:07:00Z",
    "anthropic-ratelimit-input-tokens-remaining": "0",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-18T11:06:53Z",
}


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        (OPENAI, 360.0),
        (GROQ, 179.56),
        ({**GROQ, "x-ratelimit-remaining-requests": "3"}, 7.66),
        (ANTHROPIC, 13.0),
        ({"x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        # Cerebras
        ({"x-ratelimit-reset-tokens-minute": "11.382619"}, 11.382619),
        (
            {
                "x-ratelimit-remaining-requests-day": "0",
                "x-ratelimit-reset-requests-day": "33011.4",
                "x-ratelimit-reset-tokens-minute": "11.4",
            },
            33011.4,
        ),
        # OpenRouter, and a time in seconds
        ({"x-ratelimit-reset": "1795000030000"}, 30.0),
        ({"x-ratelimit-reset": "1795000030"}, 30.0),
        ({"ratelimit-reset": "42"}, 42.0),
        ({"x-ratelimit-reset": "1794999000"}, 0.0),
        ({"x-ratelimit-reset-tokens": ""}, None),
        ({"x-ratelimit-reset-tokens": "soon"}, None),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-18T11:06:53"}, None),
        ({"x-ratelimit-remaining-tokens": "0"}, None),
        ({}, None),
    ],
)
def test_the_limit_that_is_used_up_says_when(
    headers: dict[str, str], expected_s: float | None
) -> None:
    now_s = 1_795_000_000.0
    found = renewal_wait_s(headers, now_s)
    assert found == (None if expected_s is None else pytest.approx(expected_s))


TOO_LARGE = (
    "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Requested 31538. The input or output tokens must be reduced in order to run successfully."
)
TOO_OFTEN = (
    "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Used 20000, Requested 11538. Please try again in 3.076s."
)


@pytest.mark.parametrize(
    ("message", "kind"), [(TOO_LARGE, ContextOverflow), (TOO_OFTEN, RateLimited)]
)
def test_a_request_beyond_a_whole_minutes_limit_has_to_be_shorter(
    message: str, kind: type[ProviderError]
) -> None:
    service = ServiceTarget("https://s.example/v1", "s.example", "gpt-4o", "KEY", Redactor())
    told = {"message": message, "type": "tokens", "param": None, "code": "rate_limit_exceeded"}
    refusal = ServiceRefusal(429, json.dumps({"error": told}))
    assert type(explain(service, refusal)) is kind
