import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import ChatMessage, Echo, Effect, Image, ToolCall
from agent.providers.anthropic.body import AnthropicDialect
from agent.providers.anthropic.wire import AnthropicWire
from agent.providers.base import ChatRequest
from agent.providers.failures import ServiceRefusal
from agent.providers.wire import Sampling
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

SAMPLING = Sampling("claude-fake", 1.5, 500)
WIRE = AnthropicWire()
USUAL = AnthropicDialect()
CALL = ToolCall("toolu_1", "lamp", '{"value":"on"}')
OTHER = ToolCall("toolu_2", "lamp", "{broken")


def written(
    *messages: ChatMessage, dialect: AnthropicDialect = USUAL, **more: Any
) -> dict[str, Any]:
    body = WIRE.write(ChatRequest(messages, **more), SAMPLING, dialect).body
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


def test_results_of_tools_stand_first_in_one_message_of_the_person() -> None:
    body = written(
        user_said("on"),
        assistant_said("Now. ", (CALL, OTHER)),
        tool_said(CALL, "done"),
        tool_said(OTHER, "bad arguments", is_error=True),
        user_said("and?"),
        dialect=AnthropicDialect(takes_cache_marks=False),
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "Now."},
        {"type": "tool_use", "id": "toolu_1", "name": "lamp", "input": {"value": "on"}},
        {"type": "tool_use", "id": "toolu_2", "name": "lamp", "input": {}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"},
        {
            "type": "tool_result",
            "tool_use_id": "toolu_2",
            "content": "bad arguments",
            "is_error": True,
        },
        {"type": "text", "text": "and?"},
    ]


def test_the_stable_beginning_and_the_newest_message_are_marked_for_the_cache() -> None:
    stable, changing = system_said("who you are"), system_said("it is noon")
    body = written(stable, changing, user_said("a"), assistant_said("b"), user_said("c"))
    assert [("cache_control" in part) for part in body["system"]] == [True, False]
    assert "cache_control" in body["messages"][2]["content"][-1]
    assert json.dumps(body).count("cache_control") == 2
    alone = written(stable, user_said("a"))
    assert json.dumps(alone).count("cache_control") == 1


def test_thinking_goes_back_unchanged_to_the_model_that_thought_it() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "toolu_1", "name": "lamp", "input": {}},
    ]
    echo = Echo("anthropic", "claude-fake", json.dumps(blocks))
    said = assistant_said("", (CALL,), echo)
    body = written(user_said("on"), said, tool_said(CALL, "ok"))
    assert body["messages"][1]["content"] == blocks
    for other in (replace(echo, model="claude-other"), replace(echo, wire="gemini")):
        body = written(user_said("on"), replace(said, echo=other), tool_said(CALL, "ok"))
        assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_a_picture_goes_before_the_words_about_it() -> None:
    message = replace(user_said("what is this?"), images=(Image("image/png", "aGk="),))
    content = written(message)["messages"][0]["content"]
    assert content[0]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert content[1]["text"] == "what is this?"


def test_empty_texts_are_never_sent() -> None:
    body = written(system_said(" "), user_said(" "), assistant_said("  "))
    assert "system" not in body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["messages"][0]["content"][0]["text"].strip()


def test_tools_are_sorted_and_their_schemas_have_no_references() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"type": "integer"}},
    }
    tools = [spec_of(name, "d", schema, Effect.READ) for name in "ba"]
    body = written(user_said("x"), tools=tuple(tools))
    assert [tool["name"] for tool in body["tools"]] == ["a", "b"]
    assert body["tools"][0]["input_schema"]["properties"] == {"x": {"type": "integer"}}


@pytest.mark.parametrize(
    ("message", "absent"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("system.0.cache_control: Extra inputs are not permitted", "cache_control"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_and_then_no_more(
    message: str, absent: str
) -> None:
    refusal = ServiceRefusal(400, json.dumps({"type": "error", "error": {"message": message}}))
    other = WIRE.other_dialect(AnthropicDialect(), refusal)
    assert other is not None
    body = written(system_said("s"), user_said("x"), dialect=other)
    assert absent not in json.dumps(body)
    assert WIRE.other_dialect(other, refusal) is None


@pytest.mark.parametrize(
    "message",
    [
        # DeepSeek's address of this format, Anthropic's own
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    ],
)
def test_who_wants_old_thoughts_back_is_asked_without_thinking(message: str) -> None:
    refusal = ServiceRefusal(400, json.dumps({"error": {"message": message}}))
    other = WIRE.other_dialect(USUAL, refusal)
    assert other is not None
    assert written(user_said("x"), dialect=other)["thinking"] == {"type": "disabled"}
    assert "thinking" not in written(user_said("x"))
    assert WIRE.other_dialect(other, refusal) is None


def test_the_scale_of_temperature_ends_at_one() -> None:
    assert written(user_said("x"))["temperature"] == 1.0


def test_ids_of_another_service_are_written_as_this_one_takes_them() -> None:
    # As Kimi numbers its calls, and as a service does that begins anew in every answer
    kimi = ToolCall("functions.lamp:0", "lamp", "{}")
    again = ToolCall("call_0", "lamp", "{}")
    turns = [
        message
        for call in (kimi, again, again)
        for message in (user_said("on"), assistant_said("", (call,)), tool_said(call, "done"))
    ]
    body = written(*turns, user_said("and?"))
    blocks = [block for message in body["messages"] for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert calls == results
    # What the service demands: 400 "String should match pattern", "ids must be unique"
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", call_id) for call_id in calls)
    assert len(set(calls)) == len(calls)
    assert calls[1] == "call_0"
    assert written(*turns, user_said("and?")) == body


def test_ids_stay_where_the_answer_goes_back_word_for_word() -> None:
    call = ToolCall("a:1", "lamp", "{}")
    block = {"type": "tool_use", "id": "a:1", "name": "lamp", "input": {}}
    echo = Echo("anthropic", SAMPLING.model, json.dumps([block]))
    body = written(user_said("on"), assistant_said("", (call,), echo), tool_said(call, "done"))
    assert body["messages"][1]["content"] == [block]
    assert body["messages"][2]["content"][0]["tool_use_id"] == "a:1"
