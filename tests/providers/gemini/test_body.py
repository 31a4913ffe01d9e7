import json
from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import ChatMessage, Echo, Effect, Image, ToolCall
from agent.providers.base import ChatRequest
from agent.providers.failures import ServiceRefusal
from agent.providers.gemini.body import NO_SIGNATURE, GeminiDialect
from agent.providers.gemini.wire import GeminiWire
from agent.providers.wire import Sampling
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

SAMPLING = Sampling("gemini-fake", 1.5, 500)
WIRE = GeminiWire()
USUAL = GeminiDialect()
CALL = ToolCall("c1", "lamp", '{"value":"on"}')
OTHER = ToolCall("c2", "lamp", "{broken")
TURN = (user_said("on"), assistant_said("Now. ", (CALL, OTHER)))
LAMP = spec_of(
    "lamp",
    "Lights.",
    {
        "type": "object",
        "properties": {"level": {"type": ["integer", "null"], "maximum": 3}},
        "required": ["level"],
    },
    Effect.ACTUATE,
)
STOP = spec_of("all_stop", "Stops.", {"type": "object", "properties": {}}, Effect.ACTUATE)


def written(*messages: ChatMessage, dialect: GeminiDialect = USUAL, **more: Any) -> dict[str, Any]:
    body = WIRE.write(ChatRequest(messages, **more), SAMPLING, dialect).body
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


def test_the_model_stands_in_the_address_and_nowhere_else() -> None:
    request = ChatRequest((user_said("x"),))
    for model in ("gemini-fake", "models/gemini-fake"):
        post = WIRE.write(request, replace(SAMPLING, model=model), USUAL)
        assert post.path == "models/gemini-fake:streamGenerateContent?alt=sse"
        assert b"gemini-fake" not in post.body
    post = WIRE.write(request, replace(SAMPLING, model="../x?key=y#z"), USUAL)
    assert post.path == "models/..%2Fx%3Fkey%3Dy%23z:streamGenerateContent?alt=sse"


def test_results_of_tools_stand_first_in_one_content_and_failed_ones_say_so() -> None:
    body = written(
        *TURN,
        tool_said(CALL, '{"value":"on"}'),
        tool_said(OTHER, "bad arguments", is_error=True),
        user_said("and?"),
    )
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][1]["parts"] == [
        {"text": "Now."},
        {
            "functionCall": {"name": "lamp", "args": {"value": "on"}, "id": "c1"},
            "thoughtSignature": NO_SIGNATURE,
        },
        {"functionCall": {"name": "lamp", "args": {}, "id": "c2"}},
    ]
    assert body["contents"][2]["parts"] == [
        {
            "functionResponse": {
                "name": "lamp",
                "response": {"output": '{"value":"on"}'},
                "id": "c1",
            }
        },
        {"functionResponse": {"name": "lamp", "response": {"error": "bad arguments"}, "id": "c2"}},
        {"text": "and?"},
    ]


@pytest.mark.parametrize("given", ["c1", ""])
def test_signed_parts_go_back_unchanged_to_the_model_that_signed_them(given: str) -> None:
    called: dict[str, object] = {"name": "lamp", "args": {"value": "on"}}
    if given:
        called["id"] = given
    parts = [{"functionCall": called, "thoughtSignature": "c2lnbmVk"}]
    echo = Echo("gemini", "gemini-fake", json.dumps(parts))
    said = assistant_said("", (CALL,), echo)
    body = written(user_said("on"), said, tool_said(CALL, "ok"))
    assert body["contents"][1]["parts"] == parts
    # An answer has an id where its call had one
    assert body["contents"][2]["parts"][0]["functionResponse"].get("id", "") == given
    for other in (
        replace(echo, model="gemini-other"),
        replace(echo, wire="anthropic"),
        replace(echo, content_json="{torn"),
    ):
        body = written(user_said("on"), replace(said, echo=other), tool_said(CALL, "ok"))
        assert body["contents"][1]["parts"][0]["thoughtSignature"] == NO_SIGNATURE


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "models/gemini-1.5-flash", "gemma-4-31b-it"])
def test_older_models_are_told_nothing_of_signatures(model: str) -> None:
    dialect = WIRE.first_dialect("service.invalid", model)
    assert NO_SIGNATURE not in json.dumps(written(*TURN, dialect=dialect))


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gemini-flash-latest", "models/gemini-4-a"])
def test_newer_models_are_told_where_a_signature_is_not_known(model: str) -> None:
    assert WIRE.first_dialect("service.invalid", model) == USUAL
    assert json.dumps(written(*TURN)).count(NO_SIGNATURE) == 1


def test_what_the_system_says_is_an_instruction_in_parts() -> None:
    body = written(system_said("who you are"), system_said("noon"), *TURN)
    assert body["systemInstruction"] == {"parts": [{"text": "who you are"}, {"text": "noon"}]}
    assert body["generationConfig"] == {"maxOutputTokens": 500, "temperature": 1.5}


def test_a_picture_goes_before_the_words_about_it() -> None:
    message = replace(user_said("what is this?"), images=(Image("image/png", "aGk="),))
    assert written(message)["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"text": "what is this?"},
    ]


def test_empty_texts_and_contents_are_never_sent() -> None:
    body = written(
        system_said(" "),
        user_said(" "),
        assistant_said("  "),
        user_said("x"),
    )
    assert "systemInstruction" not in body
    assert body["contents"] == [{"role": "user", "parts": [{"text": "x"}]}]
    assert written(user_said(" "))["contents"][0]["parts"][0]["text"].strip()


def test_tools_are_sorted_and_who_takes_no_arguments_says_nothing_of_them() -> None:
    first, second = written(*TURN, tools=(LAMP, STOP))["tools"][0]["functionDeclarations"]
    assert first == {"name": "all_stop", "description": "Stops."}
    assert second["parametersJsonSchema"]["properties"]["level"]["type"] == ["integer", "null"]


def refused(message: str, dialect: GeminiDialect = USUAL) -> GeminiDialect | None:
    error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    return WIRE.other_dialect(dialect, ServiceRefusal(400, json.dumps({"error": error})))


def test_a_service_that_knows_only_the_plain_schema_gets_it() -> None:
    message = (
        'Invalid JSON payload received. Unknown name "parametersJsonSchema" at '
        "'tools[0].function_declarations[0]': Cannot find field."
    )
    other = refused(message)
    assert other is not None
    (lamp,) = written(*TURN, dialect=other, tools=(LAMP,))["tools"][0]["functionDeclarations"]
    assert "parametersJsonSchema" not in lamp
    assert lamp["parameters"]["properties"]["level"] == {
        "type": "integer",
        "nullable": True,
        "description": "(at most 3)",
    }
    assert refused(message, other) is None


def test_a_model_without_instructions_hears_them_from_a_person() -> None:
    other = refused("Developer instruction is not enabled for models/gemma-3-27b-it")
    assert other is not None
    body = written(system_said("be brief"), user_said("hi"), dialect=other)
    assert "systemInstruction" not in body
    assert body["contents"] == [{"role": "user", "parts": [{"text": "be brief"}, {"text": "hi"}]}]


@pytest.mark.parametrize(
    ("message", "absent"),
    [
        ("Unable to set temperature for this model", "temperature"),
        ("Unknown name \"id\" at 'contents[1].parts[0].function_call'", '"id"'),
        ("Thought signature is not valid", NO_SIGNATURE),
    ],
)
def test_what_is_refused_is_left_out_and_then_no_more(message: str, absent: str) -> None:
    other = refused(message)
    assert other is not None
    said = written(*TURN, tool_said(CALL, "ok"), dialect=other)
    assert absent not in json.dumps(said)
    assert refused(message, other) is None


def test_a_signature_that_is_missed_is_put_in() -> None:
    message = "Function call is missing a thought_signature in functionCall parts."
    other = refused(message, GeminiDialect(wants_signatures=False))
    assert other == GeminiDialect(wants_signatures=True)
    assert refused(message, other) is None
    assert refused("Request contains an invalid argument.") is None
