import json

import pytest

from agent.errors import ContextOverflow, ProviderRefused, TransientProviderError
from agent.providers.answer import MAX_ANSWER_BYTES, AnswerBuilder
from agent.providers.anthropic.wire import AnthropicWire
from agent.providers.base import ChatResponse, StopReason, Usage
from agent.providers.service_json import WireError
from tests.contracts.provider import WRITE
from tests.fakes import anthropic_stream
from tests.fakes.llm_server import Call

WIRE = AnthropicWire()


def answered(*events: dict[str, object]) -> ChatResponse:
    answer = AnswerBuilder(WIRE.name, "claude-fake")
    for event in events:
        WIRE.read(json.dumps(event), answer)
    return answer.response(500)


def test_all_tokens_that_were_sent_are_counted_cached_or_not() -> None:
    response = answered(*anthropic_stream.events("hi"))
    assert response.usage == Usage(127, 15, cached_tokens=100, cache_write_tokens=20)


def test_thinking_is_kept_for_the_tool_loop_word_for_word() -> None:
    response = answered(*anthropic_stream.events("Now.", [WRITE], thinking="The lamp is a led."))
    assert response.echo is not None
    assert json.loads(response.echo.content_json) == [
        {"type": "thinking", "thinking": "The lamp is a led.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Now."},
        {
            "type": "tool_use",
            "id": "call_1",
            "name": WRITE.name,
            "input": {"pin": "led", "value": "on"},
        },
    ]
    assert response.text == "Now."


def test_blanks_between_thoughts_and_a_call_are_no_text() -> None:
    # The service writes them and refuses them: "must contain non-whitespace text"
    response = answered(*anthropic_stream.events("\n\n", [WRITE], thinking="hm"))
    assert response.text == ""
    assert response.echo is not None
    kinds = [block["type"] for block in json.loads(response.echo.content_json)]
    assert kinds == ["thinking", "tool_use"]


def test_thinking_without_a_call_is_not_kept() -> None:
    assert answered(*anthropic_stream.events("Done.", thinking="hm")).echo is None
    assert answered(*anthropic_stream.events("Now.", [WRITE])).echo is None


def test_a_call_whose_id_had_to_be_replaced_keeps_no_thinking() -> None:
    twice = [Call("a", "{}", "same"), Call("b", "{}", "same")]
    response = answered(*anthropic_stream.events("", twice, thinking="hm"))
    assert len({call.call_id for call in response.tool_calls}) == 2
    assert response.echo is None


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("pause_turn", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("refusal", StopReason.REFUSED),
        ("something new", StopReason.END),
    ],
)
def test_reasons_for_stopping(reason: str, stop: StopReason) -> None:
    events = anthropic_stream.events("hi")
    events[-2] = {"type": "message_delta", "delta": {"stop_reason": reason}}
    assert answered(*events).stop is stop


def test_a_call_cut_before_its_arguments_is_never_returned() -> None:
    events = anthropic_stream.events("", [Call("all_off", "")])
    events[-2] = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}
    with pytest.raises(ProviderRefused, match="in the middle of the call to all_off"):
        answered(*events)


@pytest.mark.parametrize("calls", [[], [Call("all_off", "")]])
def test_a_full_window_is_a_conversation_that_is_too_long(calls: list[Call]) -> None:
    events = anthropic_stream.events("", calls, thinking="hm")
    events[-2] = {
        "type": "message_delta",
        "delta": {"stop_reason": "model_context_window_exceeded"},
    }
    with pytest.raises(ContextOverflow, match="fills the model's window"):
        answered(*events)


def test_no_call_of_an_answer_that_was_withheld_is_returned() -> None:
    events = anthropic_stream.events("Now.", [WRITE, Call("all_off", "")], thinking="hm")
    events[-2] = {"type": "message_delta", "delta": {"stop_reason": "refusal"}}
    response = answered(*events)
    assert (response.text, response.tool_calls, response.echo) == ("Now.", (), None)
    assert response.stop is StopReason.REFUSED


def test_a_document_cut_before_the_arguments_of_its_call_is_refused() -> None:
    block = {"type": "tool_use", "id": "call_1", "name": "all_off", "input": {}}
    with pytest.raises(ProviderRefused, match="in the middle of the call to all_off"):
        answered({"type": "message", "content": [block], "stop_reason": "max_tokens"})


def test_a_call_without_arguments_needs_no_piece_of_them() -> None:
    response = answered(*anthropic_stream.events("", [Call("all_off", "")], thinking="hm"))
    assert [(call.name, call.arguments_json) for call in response.tool_calls] == [("all_off", "{}")]
    assert response.echo is not None
    assert json.loads(response.echo.content_json)[1]["input"] == {}


def test_blocks_and_deltas_of_a_kind_that_is_not_known_are_passed_over() -> None:
    other = [
        {"type": "content_block_start", "index": 7, "content_block": {"type": "server_tool_use"}},
        {
            "type": "content_block_delta",
            "index": 7,
            "delta": {"type": "input_json_delta", "partial_json": "{"},
        },
        {"type": "content_block_delta", "index": 9, "delta": {"type": "citations_delta"}},
        {"type": "content_block_stop", "index": 9},
        {"type": "of the future", "index": 1},
    ]
    events = anthropic_stream.events("hi")
    response = answered(*events[:2], *other, *events[2:])
    assert (response.text, response.tool_calls) == ("hi", ())


def test_thinking_without_end_is_refused() -> None:
    events = anthropic_stream.events("", thinking="x" * (MAX_ANSWER_BYTES + 1))
    with pytest.raises(TransientProviderError, match="longer than 1024 KB"):
        answered(*events)


@pytest.mark.parametrize("event", ["[]", "{", '{"type": 7}', '{"type": "message", "content": {}}'])
def test_what_is_no_event_is_refused(event: str) -> None:
    with pytest.raises(WireError):
        WIRE.read(event, AnswerBuilder())


def test_models_are_listed_by_their_ids() -> None:
    assert WIRE.read_models('{"data": [{"type": "model", "id": "claude-fake"}]}') == ["claude-fake"]
