import json
import random
import time

import pytest

from agent.messages import Effect, ToolCall
from agent.providers.base import ChatRequest, ChatResponse, StopReason
from agent.providers.prompted.constrained import ConstrainedReader, answer_schema
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider, ToolForm
from agent.providers.prompted.reader import AnswerReading
from agent.providers.prompted.writer import CONSTRAINED, in_words
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

LAMP = spec_of(
    "lamp",
    "Switch it.",
    {
        "type": "object",
        "properties": {
            "value": {"description": "on or off", "enum": ["off", "on"]},
            "note": {"type": "string", "maxLength": 100_000, "pattern": "[a-z]"},
        },
        "required": ["value"],
        "additionalProperties": False,
    },
    Effect.ACTUATE,
)
OFFERED = {"lamp": LAMP}
CALL = '{"calls":[{"name":"lamp","arguments":{"value":"on"}}]}'
REQUEST = ChatRequest((system_said("be good"), user_said("light please")), (LAMP,))


def read(*pieces: str) -> tuple[str, AnswerReading]:
    reader = ConstrainedReader(OFFERED)
    shown = "".join(reader.feed(piece) for piece in pieces)
    return shown, reader.close()


def whole(*pieces: str) -> str:
    shown, reading = read(*pieces)
    return shown + reading.text


def test_the_schema_offers_a_text_or_calls_and_nothing_that_a_grammar_cannot_hold() -> None:
    schema = answer_schema([LAMP])
    text, calls = schema["anyOf"]  # type: ignore[misc]  # the form that is tested
    assert text["required"] == ["answer"]
    call = calls["properties"]["calls"]["items"]
    assert call["properties"]["name"]["enum"] == ["lamp"]
    arguments = call["properties"]["arguments"]
    assert arguments["properties"]["value"] == {"enum": ["off", "on"]}
    assert arguments["properties"]["note"] == {"type": "string"}
    assert arguments["required"] == ["value"]


def test_without_tools_only_a_text_is_allowed() -> None:
    assert answer_schema([])["required"] == ["answer"]


ANSWERS = [
    "The lamp is on.",
    'She said "on" and left\\ \n\t done',
    "Gern! 好的 💡 — <tool_call> é",
    '{"calls": []}',
    "",
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_text_comes_out_whole_however_it_is_cut(answer: str, *, is_ascii: bool) -> None:
    written = json.dumps({"answer": answer}, ensure_ascii=is_ascii)
    assert whole(written) == answer
    assert whole(*written) == answer
    for place in range(len(written)):
        assert whole(written[:place], written[place:]) == answer


def test_a_text_is_shown_while_it_is_written() -> None:
    shown, reading = read('{"answer": "It is ', "24.5 degrees", '."}')
    assert (shown, reading.text) == ("It is 24.5 degrees.", "")


@pytest.mark.parametrize(
    "frame", ["{}", " \n{}\n", "```json\n{}\n```", "<think>well</think>{}", "{}<|im_end|>"]
)
def test_calls_are_read_in_any_frame_and_cut(frame: str) -> None:
    written = frame.replace("{}", CALL)
    for place in range(len(written)):
        shown, reading = read(written[:place], written[place:])
        assert shown + reading.text == ""
        assert [(one.name, one.arguments_json) for one in reading.wanted] == [
            ("lamp", '{"value": "on"}')
        ]


def test_a_call_that_was_cut_is_told_and_does_not_run() -> None:
    _, reading = read(CALL[:-3])
    assert reading.is_cut
    assert reading.problems
    assert reading.wanted == ()


def test_a_text_that_was_cut_is_shown_as_far_as_it_came() -> None:
    assert whole('{"answer": "It is 24.') == "It is 24."
    assert whole('{"answer": "caf\\u00') == "caf"


def test_a_long_answer_in_small_pieces_takes_no_more_time_for_each() -> None:
    text = "a" * 200_000
    reader = ConstrainedReader(OFFERED)
    began_s = time.process_time()
    shown = "".join(reader.feed(piece) for piece in ['{"answer":"', *text, '"}'])
    assert shown + reader.close().text == text
    calls = ConstrainedReader(OFFERED)
    assert "".join(calls.feed(piece) for piece in ['{"calls":[', *text]) == ""
    assert calls.close().is_cut
    # By the square of the length it would take hours
    assert time.process_time() - began_s < 20


def test_an_unknown_tool_is_a_problem() -> None:
    _, reading = read('{"calls":[{"name":"oven","arguments":{}}]}')
    assert "no tool oven" in reading.problems[0]
    assert reading.wanted == ()


def test_a_server_that_ignores_the_schema_is_read_as_any_other() -> None:
    assert whole("The lamp", " is on.") == "The lamp is on."
    _, reading = read('<tool_call>{"name":"lamp","arguments":{"value":"on"}}</tool_call>')
    assert [one.name for one in reading.wanted] == ["lamp"]
    assert whole('{"a": 1} is an object') == '{"a": 1} is an object'


def test_past_answers_have_the_form_of_the_next() -> None:
    call = ToolCall("1", "lamp", '{"value":"on"}')
    said = (
        system_said("be good"),
        user_said("light please"),
        assistant_said("", (call,)),
        tool_said(call, '{"lamp":"on"}'),
        assistant_said("It is on."),
        user_said("thanks"),
    )
    written = in_words(ChatRequest(said, (LAMP,)), CONSTRAINED)
    assert written.tools == ()
    assert written.answer_schema == answer_schema([LAMP])
    past = [json.loads(one.text) for one in written.messages if one.role.value == "assistant"]
    assert past == [
        {"calls": [{"name": "lamp", "arguments": {"value": "on"}}]},
        {"answer": "It is on."},
    ]


async def told(provider: PromptedProvider, request: ChatRequest = REQUEST) -> ChatResponse:
    return await provider.chat(request)


def prompted(model: ScriptedProvider, form: ToolForm, *, has_grammar: bool) -> PromptedProvider:
    forms = ToolForms(SteppedClock())
    return PromptedProvider(model, "small", forms, form, has_grammar=has_grammar)


async def test_by_configuration_every_request_has_the_schema() -> None:
    model = ScriptedProvider(CALL)
    response = await told(prompted(model, ToolForm.GRAMMAR, has_grammar=False))
    assert response.stop is StopReason.TOOLS
    assert [call.name for call in response.tool_calls] == ["lamp"]
    assert model.requests[0].answer_schema == answer_schema([LAMP])


@pytest.mark.parametrize("has_grammar", [True, False])
async def test_a_call_that_cannot_be_read_is_asked_for_again_under_the_grammar(
    *, has_grammar: bool
) -> None:
    broken = '<tool_call>{"name": "lamp", "arguments": {"value": </tool_call>'
    good = (
        CALL if has_grammar else '<tool_call>{"name":"lamp","arguments":{"value":"on"}}</tool_call>'
    )
    model = ScriptedProvider(broken, good)
    response = await told(prompted(model, ToolForm.AUTO, has_grammar=has_grammar))
    assert [call.name for call in response.tool_calls] == ["lamp"]
    assert model.requests[0].answer_schema is None
    assert (model.requests[1].answer_schema is not None) == has_grammar


async def test_what_was_shown_to_the_model_in_this_form_is_repeated_not_called() -> None:
    model = ScriptedProvider(CALL)
    request = ChatRequest((system_said("x"), user_said(f"what does {CALL} mean?")), (LAMP,))
    response = await told(prompted(model, ToolForm.GRAMMAR, has_grammar=True), request)
    assert response.tool_calls == ()


def test_a_sampler_under_the_schema_errs_never() -> None:
    """A scripted sampler writes what the schema allows, at random, and is cut at random."""
    chance = random.Random(25)
    for _ in range(2000):
        space = chance.choice(["", " ", "\n  "])
        value = chance.choice(["on", "off"])
        note = "".join(chance.choice('ab"\\\n{}<é💡') for _ in range(chance.randrange(6)))
        arguments = {"value": value, **({"note": note} if note else {})}
        told = {"calls": [{"name": "lamp", "arguments": arguments}] * chance.randint(1, 3)}
        written = json.dumps(told, ensure_ascii=chance.random() < 0.5).replace(":", f":{space}", 1)
        place = chance.randrange(len(written))
        shown, reading = read(written[:place], written[place:])
        assert shown + reading.text == ""
        assert [json.loads(one.arguments_json) for one in reading.wanted] == [
            arguments for _ in told["calls"]
        ]
