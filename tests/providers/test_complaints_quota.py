"""An account without money, or at a limit that its owner has set at the service, in real words."""

import json

import pytest

from agent.errors import QuotaExhausted, RateLimited
from agent.providers.failures import ServiceRefusal, ServiceTarget, explain
from agent.security.redact import Redactor

SERVICE = ServiceTarget("https://s.example/v1", "s.example", "some-model", "KEY", Redactor())
BACK = "You will regain access on 2026-12-01 at 00:00 UTC."
XAI = (
    "Your team 16f2 has either used all available credits or reached its monthly spending limit. "
    "To continue making API requests, please purchase more credits or raise your spending limit."
)


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


def anthropic(message: str, **more: object) -> dict[str, object]:
    return {"type": "error", **error(message, **more)}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, anthropic(f"You have reached your specified API usage limits. {BACK}")),
        (400, anthropic(f"You have reached your specified workspace API usage limits. {BACK}")),
        (
            429,
            anthropic(
                "You have reached your API usage limits.",
                type="rate_limit_error",
                details={"error_code": "enforced_spend_limit_reached"},
            ),
        ),
        (429, {"code": "Some resource has been exhausted", "error": XAI}),
        (403, {"code": "permission-denied", "error": XAI}),
        (403, {"code": "x", "error": "Your newly created team doesn't have any credits yet."}),
        (429, error("Your account is not active", type="billing_not_active")),
        (429, error("Your project reached its limit.", code="project_spend_limit_exceeded")),
        (
            429,
            error(
                "Your prepayment credits are depleted. Please go to AI Studio.",
                code=429,
                status="RESOURCE_EXHAUSTED",
            ),
        ),
        (429, error("Your project has exceeded its monthly spending cap.", code=429)),
        (
            403,
            error(
                "Your account x is not active, organization y exceeded current quota",
                type="exceeded_current_quota_error",
            ),
        ),
        (
            400,
            error(
                "Access denied, please make sure your account is in good standing.",
                code="Arrearage",
            ),
        ),
    ],
)
def test_an_account_that_pays_for_nothing_is_told_as_that(
    status: int, body: dict[str, object]
) -> None:
    found = explain(SERVICE, ServiceRefusal(status, json.dumps(body)))
    assert type(found) is QuotaExhausted
    assert "the account at s.example has no quota left" in str(found)


def test_a_limit_for_a_minute_is_none_of_the_account() -> None:
    told = anthropic("This request would exceed your rate limit", type="rate_limit_error")
    assert type(explain(SERVICE, ServiceRefusal(429, json.dumps(told)))) is RateLimited
