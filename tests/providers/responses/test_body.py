import json
from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import ChatMessage, Echo, Effect, Image, ToolCall
from agent.providers.answer import AnswerBuilder
from agent.providers.base import ChatRequest
from agent.providers.failures import ServiceRefusal
from agent.providers.responses.body import ResponsesDialect
from agent.providers.responses.wire import ResponsesWire
from agent.providers.wire import Sampling
from tests.contracts.provider import WRITE
from tests.fakes import responses_stream
from tests.fakes.responses_stream import THOUGHTS, Json
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

SAMPLING = Sampling("gpt-fake", 0.5, 500)
WIRE = ResponsesWire()
USUAL = ResponsesDialect()
CALL = ToolCall("call_1", "lamp", "{broken")


def written(
    *messages: ChatMessage, dialect: ResponsesDialect = USUAL, **more: Any
) -> dict[str, Any]:
    found = json.loads(WIRE.write(ChatRequest(messages, **more), SAMPLING, dialect).body)
    assert isinstance(found, dict)
    return found


def test_a_conversation_becomes_a_list_of_items_and_instructions() -> None:
    body = written(
        system_said("who you are"),
        system_said("it is noon"),
        user_said("on"),
        assistant_said("Now.", (CALL,)),
        tool_said(CALL, "done"),
    )
    assert body["instructions"] == "who you are\n\nit is noon"
    assert body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "on"}]},
        {"role": "assistant", "content": "Now."},
        {"type": "function_call", "call_id": "call_1", "name": "lamp", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    ]
    assert (body["store"], body["stream"], body["max_output_tokens"]) == (False, True, 500)


def test_thoughts_go_back_before_the_call_that_they_led_to() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "lamp", "arguments": "{}"}
    echo = Echo("responses", "gpt-fake", json.dumps([THOUGHTS, call]))
    said = assistant_said("", (CALL,), echo)
    assert written(user_said("on"), said)["input"][1:] == [THOUGHTS, call]
    other = replace(said, echo=replace(echo, model="gpt-other"))
    assert [item["type"] for item in written(other)["input"]] == ["function_call"]


@pytest.mark.parametrize("kept", [[], [THOUGHTS], [{"type": "message", "call_id": "call_1"}]])
def test_a_call_that_the_end_of_a_stream_left_out_goes_before_its_result(kept: list[Json]) -> None:
    # Proxies end with `"output": []`, whatever they have streamed
    answer = AnswerBuilder(WIRE.name, SAMPLING.model)
    for event in responses_stream.events("", [WRITE]):
        if event["type"] == "response.completed":
            event["response"] = {"status": "completed", "output": kept}
        WIRE.read(json.dumps(event), answer)
    response = answer.response(500)
    said = assistant_said("", response.tool_calls, response.echo)
    (call,) = response.tool_calls
    items = written(user_said("on"), said, tool_said(call, "done"))["input"][1:]
    assert [item["type"] for item in items] == ["function_call", "function_call_output"]
    assert items[0]["call_id"] == items[1]["call_id"] == call.call_id


def test_a_picture_is_sent_within_the_request() -> None:
    message = replace(user_said(""), images=(Image("image/png", "aGk="),))
    assert written(message)["input"][0]["content"] == [
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}
    ]


def test_tools_may_leave_arguments_out() -> None:
    tools = [spec_of(name, "d", {"type": "object"}, Effect.READ) for name in "ba"]
    body = written(user_said("x"), tools=tuple(tools))
    assert [(tool["name"], tool["strict"]) for tool in body["tools"]] == [
        ("a", False),
        ("b", False),
    ]


@pytest.mark.parametrize(
    ("message", "absent"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("Encrypted content is not supported: reasoning.encrypted_content", "include"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_and_then_no_more(
    message: str, absent: str
) -> None:
    refusal = ServiceRefusal(400, json.dumps({"error": {"message": message}}))
    other = WIRE.other_dialect(ResponsesDialect(), refusal)
    assert other is not None
    assert absent not in written(user_said("x"), dialect=other)
    assert WIRE.other_dialect(other, refusal) is None
