import json

import pytest

from agent.errors import ContextOverflow, TransientProviderError
from agent.providers.answer import MAX_ANSWER_BYTES, AnswerBuilder
from agent.providers.base import ChatResponse, StopReason, Usage
from agent.providers.ollama.wire import LEAST_ROOM_TOKENS, OllamaWire
from agent.providers.service_json import WireError
from tests.contracts.provider import NO_ARGUMENTS, WRITE
from tests.fakes.ollama_service import done, lines, ndjson

WINDOW = 8192
WIRE = OllamaWire(WINDOW)


def answered(*events: object) -> ChatResponse:
    answer = AnswerBuilder(WIRE.name, "fake:8b")
    for event in events:
        WIRE.read(json.dumps(event), answer)
    return answer.response(500)


def test_tokens_are_counted_from_the_last_line() -> None:
    assert answered(*lines("hi")).usage == Usage(127, 15)


def test_calls_have_arguments_as_objects_and_get_ids() -> None:
    response = answered(*lines("", [WRITE, WRITE, NO_ARGUMENTS]))
    arguments = [json.loads(call.arguments_json) for call in response.tool_calls]
    assert arguments == [{"pin": "led", "value": "on"}] * 2 + [{}]
    assert len({call.call_id for call in response.tool_calls}) == 3
    assert response.stop is StopReason.TOOLS


def test_ids_and_arguments_as_text_are_taken_where_they_come() -> None:
    call = {"id": "call_7", "function": {"name": "lamp", "arguments": '{"value":"on"}'}}
    (found,) = answered({"message": {"tool_calls": [call]}}, done()).tool_calls
    assert (found.call_id, found.arguments_json) == ("call_7", '{"value":"on"}')


def test_thoughts_are_not_shown_and_kept_for_the_tool_loop() -> None:
    response = answered(*lines("Now.", [WRITE], thinking="The lamp is a led."))
    assert response.text == "Now."
    assert response.echo is not None
    assert json.loads(response.echo.content_json) == "The lamp is a led."
    assert answered(*lines("Done.", thinking="hm")).echo is None
    assert answered(*lines("Now.", [WRITE])).echo is None


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", StopReason.END), ("length", StopReason.LENGTH), ("new", StopReason.END)],
)
def test_reasons_for_stopping(reason: str, stop: StopReason) -> None:
    assert answered({"message": {"content": "hi"}}, done(reason)).stop is stop


@pytest.mark.parametrize("sent", [WINDOW, WINDOW - LEAST_ROOM_TOKENS])
def test_an_answer_to_a_conversation_that_was_cut_to_the_window_is_none(sent: int) -> None:
    with pytest.raises(ContextOverflow, match=r"8192 tokens.*provider\.context_tokens"):
        answered({"message": {"content": "hi"}}, done(sent=sent))


@pytest.mark.parametrize("sent", [WINDOW - LEAST_ROOM_TOKENS - 1, WINDOW + 1, 100_000])
def test_a_conversation_that_fits_or_has_a_larger_window_is_answered(sent: int) -> None:
    assert answered({"message": {"content": "hi"}}, done(sent=sent)).text == "hi"


@pytest.mark.parametrize(
    ("reason", "sent", "written", "is_full"),
    [
        ("length", WINDOW - 100, 100, True),
        ("length", WINDOW - 100, 99, True),
        ("length", WINDOW - 1000, 500, False),
        ("length", 100_000, 500, False),
        ("stop", WINDOW - 100, 100, False),
        # A server with a larger window than was asked for
        ("length", WINDOW - 100, 500, False),
    ],
)
def test_a_limit_that_is_the_windows_is_told_apart(
    reason: str, sent: int, written: int, *, is_full: bool
) -> None:
    end = done(reason, sent, written)
    assert answered({"message": {"content": "hi"}}, end).was_shortened is is_full


def test_a_window_that_thoughts_have_filled_is_a_conversation_that_is_too_long() -> None:
    end = done("length", WINDOW - 100, 100)
    with pytest.raises(ContextOverflow, match="fills the model's window"):
        answered({"message": {"thinking": "hm"}}, end)


def test_lines_that_come_as_one_document_are_read_one_by_one() -> None:
    answer = AnswerBuilder(WIRE.name, "fake:8b")
    text = WIRE.read(ndjson(*lines("hello there", [WRITE])).decode(), answer)
    response = answer.response(500)
    assert (text, len(response.tool_calls)) == ("hello there", 1)


def test_nothing_is_waited_for_behind_the_last_line() -> None:
    answer = AnswerBuilder(WIRE.name, "fake:8b")
    WIRE.read(json.dumps(done()), answer)
    assert answer.is_closed


def test_thinking_without_end_is_refused() -> None:
    with pytest.raises(TransientProviderError, match="longer than 1024 KB"):
        answered({"message": {"thinking": "x" * (MAX_ANSWER_BYTES + 1)}})


@pytest.mark.parametrize("event", ["", "[]", "{", '{"done": "maybe"}', '{"message": 7}'])
def test_what_is_no_line_is_refused(event: str) -> None:
    with pytest.raises(WireError):
        WIRE.read(event, AnswerBuilder())


def test_models_that_were_pulled_are_listed() -> None:
    listed = {"models": [{"name": "fake:8b", "model": "fake:8b", "size": 1}]}
    assert WIRE.read_models(json.dumps(listed)) == ["fake:8b"]


@pytest.mark.parametrize("model", ["llava:7b", "llama3.2-vision", "qwen2.5vl:3b", "gemma3:4b"])
def test_models_that_see_are_known_by_name(model: str) -> None:
    assert WIRE.capabilities(model).vision


@pytest.mark.parametrize("model", ["llama3.2:3b", "qwen3:8b", "gemma2:2b"])
def test_others_do_not_see(model: str) -> None:
    assert not WIRE.capabilities(model).vision
    assert WIRE.capabilities(model).context_tokens == WINDOW
