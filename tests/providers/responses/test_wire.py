import json

import pytest

from agent.errors import (
    ContextOverflow,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
)
from agent.providers.answer import AnswerBuilder
from agent.providers.base import ChatResponse, StopReason, Usage
from agent.providers.failures import ServiceTarget, explain_event
from agent.providers.responses.wire import ResponsesWire
from agent.providers.service_json import WireError
from agent.providers.wire import ToldError
from agent.security.redact import Redactor
from tests.contracts.provider import WRITE
from tests.fakes import responses_stream
from tests.fakes.responses_stream import THOUGHTS

WIRE = ResponsesWire()
SERVICE = ServiceTarget("https://s.example/v1", "s.example", "gpt-fake", "KEY", Redactor())


def answered(*events: dict[str, object]) -> ChatResponse:
    answer = AnswerBuilder(WIRE.name, "gpt-fake")
    for event in events:
        WIRE.read(json.dumps(event), answer)
    return answer.response(500)


def test_tokens_are_counted_at_the_end() -> None:
    assert answered(*responses_stream.events("hi")).usage == Usage(70, 15, 60)


def test_thoughts_are_kept_for_the_tool_loop_only() -> None:
    response = answered(*responses_stream.events("Now.", [WRITE]))
    assert response.echo is not None
    items = json.loads(response.echo.content_json)
    assert items[0] == THOUGHTS
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert answered(*responses_stream.events("Done.")).echo is None


def test_a_call_whose_pieces_never_came_is_whole_in_its_last_event() -> None:
    events = [
        event
        for event in responses_stream.events("", [WRITE])
        if event["type"] != "response.function_call_arguments.delta"
    ]
    assert answered(*events).tool_calls[0].arguments_json == WRITE.arguments
    unannounced = [event for event in events if event["type"] != "response.output_item.added"]
    assert answered(*unannounced).tool_calls[0].arguments_json == WRITE.arguments


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("max_output_tokens", StopReason.LENGTH), ("content_filter", StopReason.REFUSED)],
)
def test_an_answer_that_is_not_whole_says_why(reason: str, stop: StopReason) -> None:
    events = responses_stream.events("Begi")
    details = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    events[-1] = {
        "type": "response.incomplete",
        "response": responses_stream.response("Begi", **details),
    }
    assert answered(*events).stop is stop


def test_a_call_cut_before_its_arguments_is_never_returned() -> None:
    item = {"type": "function_call", "call_id": "call_1", "name": "all_off", "arguments": ""}
    details = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    end = {**responses_stream.response("", **details), "output": [item]}
    with pytest.raises(ProviderRefused, match="in the middle of the call to all_off"):
        answered(
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.incomplete", "response": end},
        )


def test_an_answer_without_room_names_the_setting() -> None:
    details = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    with pytest.raises(ProviderRefused, match=r"provider\.max_tokens"):
        answered(
            {"type": "response.incomplete", "response": responses_stream.response("", **details)}
        )


def test_a_refusal_is_told_as_text() -> None:
    refusal: dict[str, object] = {"type": "response.refusal.delta", "delta": "I will not."}
    response = answered(refusal, responses_stream.events("")[-1])
    assert (response.text, response.stop) == ("I will not.", StopReason.REFUSED)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "oops"},
        {"type": "error", "sequence_number": 2, "error": {"code": "x", "message": "oops"}},
        {"type": "response.failed", "response": {"error": {"code": "x", "message": "oops"}}},
        {"object": "response", "status": "failed", "error": {"message": "oops"}},
    ],
)
def test_errors_are_the_services_own(event: dict[str, object]) -> None:
    with pytest.raises(ToldError) as told:
        answered(event)
    assert "oops" in str(told.value.body)


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("context_length_exceeded", "Your input exceeds the window", ContextOverflow),
        ("too_many_requests", "Too Many Requests", RateLimited),
        ("rate_limit_exceeded", "Rate limit reached. Try again in 3.5s.", RateLimited),
        ("credit_balance_exhausted", "You have no credits remaining.", QuotaExhausted),
    ],
)
@pytest.mark.parametrize("is_together", [True, False])
def test_an_error_within_a_stream_is_told_apart(
    code: str, message: str, kind: type[ProviderError], *, is_together: bool
) -> None:
    said = {"code": code, "message": message, "param": None}
    with pytest.raises(ToldError) as told:
        answered({"type": "error", **({"error": said} if is_together else said)})
    found = explain_event(SERVICE, told.value.body)
    assert type(found) is kind
    assert message in str(found)


@pytest.mark.parametrize("event", ["[]", "{}", '{"output": [{"content": 7}]}'])
def test_what_is_no_event_is_refused(event: str) -> None:
    with pytest.raises(WireError):
        WIRE.read(event, AnswerBuilder())
