"""Complaints that OpenRouter only quotes: those of the service behind it."""

import json

import pytest

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderRefused,
    RateLimited,
    ToolsUnsupported,
)
from agent.providers.completions.dialect import CompletionsDialect
from agent.providers.completions.wire import CompletionsWire
from agent.providers.failures import ServiceRefusal, ServiceTarget, explain, explain_event
from agent.security.redact import Redactor

SERVICE = ServiceTarget("https://r.example/v1", "r.example", "some-model", "KEY", Redactor())
TOO_LONG = "prompt is too long: 208310 tokens > 200000 maximum"


def told(raw: object, code: object = 400) -> dict[str, object]:
    metadata = {"raw": raw, "provider_name": "Anthropic"}
    return {"message": "Provider returned error", "code": code, "metadata": metadata}


def refusal(raw: object, status: int = 400) -> ServiceRefusal:
    return ServiceRefusal(status, json.dumps({"error": told(raw, status)}))


def quoted(message: str, **more: object) -> str:
    return json.dumps({"type": "error", "error": {"message": message, **more}})


@pytest.mark.parametrize(
    "raw",
    [
        TOO_LONG,
        quoted(TOO_LONG, type="invalid_request_error"),
        {"error": {"message": TOO_LONG}},
        quoted("no", code="context_length_exceeded"),
        json.dumps([{"error": {"code": 400, "message": TOO_LONG}}]),
    ],
)
def test_a_conversation_that_is_too_long_for_the_service_behind(raw: object) -> None:
    assert type(explain(SERVICE, refusal(raw))) is ContextOverflow
    # Before any status, in the middle of a stream
    assert type(explain_event(SERVICE, told(raw, "server_error"))) is ContextOverflow


def test_a_person_reads_what_the_service_behind_said() -> None:
    found = explain(SERVICE, refusal(quoted("Your image is broken")))
    assert type(found) is ProviderRefused
    assert "(400: Provider returned error: Your image is broken)" in str(found)


@pytest.mark.parametrize("raw", ["", None, "<html>502</html>", {}])
def test_a_quotation_that_says_nothing_changes_nothing(raw: object) -> None:
    assert "(400: Provider returned error)" in str(explain(SERVICE, refusal(raw)))


def test_tools_and_waits_are_read_of_it_too() -> None:
    no_tools = refusal(quoted("tool use is not supported by this model"))
    assert type(explain(SERVICE, no_tools)) is ToolsUnsupported
    found = explain(SERVICE, refusal("busy, please try again in 1.5s", 429))
    assert isinstance(found, RateLimited)
    assert found.retry_after_s == 1.5


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (
            quoted("Unsupported value", param="temperature"),
            CompletionsDialect(takes_temperature=False),
        ),
        (
            quoted("Tool call id was call_00_x but must be a-z, A-Z, 0-9, with a length of 9."),
            CompletionsDialect(takes_any_id=False),
        ),
    ],
)
def test_a_dialect_is_learnt_of_it(raw: str, wanted: CompletionsDialect) -> None:
    assert CompletionsWire().other_dialect(CompletionsDialect(), refusal(raw)) == wanted


FLAGGED = {"reasons": ["harassment"], "flagged_input": "kill the pump", "provider_name": "P"}


@pytest.mark.parametrize(
    "body",
    [
        {"message": "Forbidden", "code": 403, "metadata": FLAGGED},
        {"message": 'P requires moderation. Your input was flagged for "x".', "code": 403},
        {"message": "Request blocked: prompt injection patterns detected", "code": 403},
        {"message": "no", "code": "content_policy_violation"},
    ],
)
def test_what_a_filter_refuses_is_no_fault_of_the_key(body: dict[str, object]) -> None:
    found = explain(SERVICE, ServiceRefusal(403, json.dumps({"error": body})))
    assert type(found) is ProviderRefused
    assert "refused what was said (403: " in str(found)


def test_a_key_that_is_forbidden_is_still_told_as_that() -> None:
    told = json.dumps({"error": {"message": "Key limit exceeded", "code": 403, "metadata": {}}})
    assert type(explain(SERVICE, ServiceRefusal(403, told))) is KeyRefused


@pytest.mark.parametrize(
    "body",
    [
        {
            "code": "Client specified an invalid argument",
            "error": "Incorrect API key provided: xa***ab. You can obtain one from console.x.ai.",
        },
        {"error": {"message": "Invalid API key", "code": 400}},
        {"error": {"message": "Expired API-key", "code": 400}},
    ],
)
def test_a_key_that_is_no_good_is_told_by_words_where_the_status_says_little(
    body: dict[str, object],
) -> None:
    assert type(explain(SERVICE, ServiceRefusal(400, json.dumps(body)))) is KeyRefused
