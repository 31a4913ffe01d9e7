import json
from typing import Any

from msgspec.structs import replace

from agent.messages import ChatMessage, Echo, Effect, Image, ToolCall
from agent.providers.base import ChatRequest
from agent.providers.failures import ServiceRefusal
from agent.providers.ollama.body import OllamaDialect
from agent.providers.ollama.wire import OllamaWire
from agent.providers.wire import Sampling
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

SAMPLING = Sampling("fake:8b", 1.5, 500)
WIRE = OllamaWire(8192)
USUAL = OllamaDialect()
CALL = ToolCall("c1", "lamp", '{"value":"on"}')
OTHER = ToolCall("c2", "fan", "{broken")


def written(*messages: ChatMessage, dialect: OllamaDialect = USUAL, **more: Any) -> dict[str, Any]:
    post = WIRE.write(ChatRequest(messages, **more), SAMPLING, dialect)
    assert post.path == "chat"
    found = json.loads(post.body)
    assert isinstance(found, dict)
    return found


def test_the_window_is_always_said_and_never_to_be_overrun_in_silence() -> None:
    body = written(user_said("x"))
    assert body["options"] == {"num_ctx": 8192, "num_predict": 500, "temperature": 1.5}
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, True)
    assert body["keep_alive"] == "30m"


def test_arguments_are_objects_and_results_name_their_tool() -> None:
    body = written(
        user_said("on"),
        assistant_said("Now.", (CALL, OTHER)),
        tool_said(CALL, '{"value":"on"}'),
        tool_said(OTHER, "bad arguments", is_error=True),
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Now.",
            "tool_calls": [
                {"function": {"name": "lamp", "arguments": {"value": "on"}}},
                {"function": {"name": "fan", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": '{"value":"on"}', "tool_name": "lamp"},
        {"role": "tool", "content": "error: bad arguments", "tool_name": "fan"},
    ]


def test_there_is_one_system_prompt_and_persons_take_turns() -> None:
    picture = (Image("image/png", "aGk="),)
    body = written(
        system_said("who you are"),
        system_said("noon"),
        user_said("one"),
        replace(user_said("two"), images=picture),
    )
    assert body["messages"] == [
        {"role": "system", "content": "who you are\n\nnoon"},
        {"role": "user", "content": "one\n\ntwo", "images": ["aGk="]},
    ]


def test_thoughts_go_back_to_the_model_that_had_them() -> None:
    echo = Echo("ollama", "fake:8b", json.dumps("The lamp is a led."))
    said = assistant_said("", (CALL,), echo)
    turn = (user_said("on"), said, tool_said(CALL, "ok"))
    assert written(*turn)["messages"][1]["thinking"] == "The lamp is a led."
    for other in (
        replace(echo, model="other"),
        replace(echo, wire="gemini"),
        replace(echo, content_json="{torn"),
        replace(echo, content_json="[]"),
    ):
        body = written(turn[0], replace(said, echo=other), turn[2])
        assert "thinking" not in body["messages"][1]


def test_tools_are_sorted_and_limits_that_are_not_read_are_told() -> None:
    level = {
        "anyOf": [{"type": "integer", "enum": [1, 2, 3]}, {"type": "null"}],
        "maximum": 3,
        "description": "How bright",
    }
    schema = {"type": "object", "properties": {"level": level}, "required": ["level"]}
    tools = (
        spec_of("lamp", "Lights.", schema, Effect.ACTUATE),
        spec_of("fan", "Blows.", {"type": "object"}, Effect.ACTUATE),
    )
    fan, lamp = written(user_said("x"), tools=tools)["tools"]
    assert fan["function"]["parameters"] == {"type": "object", "properties": {}}
    assert lamp["type"] == "function"
    assert lamp["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "level": {
                "type": "integer",
                "enum": [1, 2, 3],
                "nullable": True,
                "description": "How bright (at most 3)",
            }
        },
        "required": ["level"],
    }


def test_thinking_is_off_and_not_spoken_of_where_that_is_refused() -> None:
    assert written(user_said("x"))["think"] is False
    refusal = ServiceRefusal(400, '{"error":"\\"fake:8b\\" does not support thinking"}')
    other = WIRE.other_dialect(USUAL, refusal)
    assert other is not None
    assert "think" not in written(user_said("x"), dialect=other)
    assert WIRE.other_dialect(other, refusal) is None
    assert WIRE.other_dialect(USUAL, ServiceRefusal(400, '{"error":"no"}')) is None
