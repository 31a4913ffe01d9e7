import json

import pytest

from agent.errors import TransientProviderError
from agent.providers.answer import MAX_ANSWER_BYTES, AnswerBuilder
from agent.providers.base import ChatResponse, StopReason, Usage
from agent.providers.gemini.wire import GeminiWire
from agent.providers.service_json import WireError
from tests.contracts.provider import NO_ARGUMENTS, WRITE
from tests.fakes import gemini_service
from tests.fakes.gemini_service import SIGNATURE, chunk, chunks
from tests.fakes.llm_server import Call

WIRE = GeminiWire()


def answered(*events: object) -> ChatResponse:
    answer = AnswerBuilder(WIRE.name, "gemini-fake")
    for event in events:
        WIRE.read(json.dumps(event), answer)
    return answer.response(500)


def test_thinking_is_counted_with_what_was_written_and_the_cache_with_what_was_sent() -> None:
    assert answered(*chunks("hi")).usage == Usage(127, 15, cached_tokens=100)


def test_signed_parts_are_kept_for_the_tool_loop_where_they_stood() -> None:
    response = answered(*chunks("Now it is on.", [WRITE, NO_ARGUMENTS], signed=True))
    assert response.echo is not None
    assert json.loads(response.echo.content_json) == [
        {"text": "Now it is on."},
        {
            "functionCall": {
                "name": WRITE.name,
                "args": {"pin": "led", "value": "on"},
                "id": WRITE.call_id,
            },
            "thoughtSignature": SIGNATURE,
        },
        {"functionCall": {"name": NO_ARGUMENTS.name, "args": {}, "id": NO_ARGUMENTS.call_id}},
    ]


def test_a_signature_on_an_empty_text_is_a_part_of_its_own() -> None:
    call = {"functionCall": {"name": "lamp"}}
    signed = {"text": "", "thoughtSignature": SIGNATURE}
    response = answered(chunk({"text": "a"}), chunk(signed), chunk(call, "STOP"))
    assert response.echo is not None
    said = json.loads(response.echo.content_json)
    assert said == [{"text": "a"}, signed, {"functionCall": {"name": "lamp", "args": {}}}]


def test_nothing_is_kept_of_an_answer_without_calls_or_without_signatures() -> None:
    assert answered(chunk({"text": "hi", "thoughtSignature": SIGNATURE}, "STOP")).echo is None
    assert answered(*chunks("Now.", [WRITE])).echo is None


def test_thinking_is_not_shown() -> None:
    thought = {"text": "The lamp is a led.", "thought": True}
    response = answered(chunk(thought), *chunks("Done."))
    assert response.text == "Done."
    signed = {**thought, "thoughtSignature": SIGNATURE}
    response = answered(chunk(signed), *chunks("Now.", [WRITE]))
    assert response.text == "Now."
    assert response.echo is not None
    assert json.loads(response.echo.content_json)[0] == signed


def test_calls_of_the_same_tool_without_ids_stay_apart() -> None:
    calls = [{"functionCall": {"name": "lamp", "args": {"value": n}}} for n in (1, 2)]
    response = answered(chunk(calls[0]), chunk(calls[1], "STOP"))
    assert [call.arguments_json for call in response.tool_calls] == ['{"value":1}', '{"value":2}']
    assert len({call.call_id for call in response.tool_calls}) == 2


def test_a_call_whose_id_had_to_be_replaced_keeps_no_signature() -> None:
    twice = [Call("a", "{}", "same"), Call("b", "{}", "same")]
    response = answered(*chunks("", twice, signed=True))
    assert len({call.call_id for call in response.tool_calls}) == 2
    assert response.echo is None


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", StopReason.END),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("CONTINUATION", StopReason.LENGTH),
        ("SAFETY", StopReason.REFUSED),
        ("ESCALATION", StopReason.REFUSED),
        ("RECITATION", StopReason.REFUSED),
        ("PROHIBITED_CONTENT", StopReason.REFUSED),
        ("SPII", StopReason.REFUSED),
        ("BLOCKLIST", StopReason.REFUSED),
        ("SOMETHING_NEW", StopReason.END),
    ],
)
def test_reasons_for_stopping(reason: str, stop: StopReason) -> None:
    assert answered(chunk({"text": "hi"}, reason)).stop is stop


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"])
def test_an_answer_that_the_service_could_not_read_is_worth_another_try(reason: str) -> None:
    with pytest.raises(TransientProviderError, match=reason):
        answered({"candidates": [{"finishReason": reason, "index": 0}]})


def test_a_question_that_is_blocked_is_an_answer_withheld() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}
    response = answered(blocked)
    assert (response.text, response.stop) == ("", StopReason.REFUSED)


def test_a_reason_in_every_event_ends_nothing_early() -> None:
    response = answered(chunk({"text": "a"}, "STOP"), chunk({"text": "b"}, "STOP"))
    assert response.text == "ab"


def test_only_the_first_of_several_answers_is_heard() -> None:
    other = {"candidates": [{"index": 1, "content": {"parts": [{"text": "no"}]}}]}
    assert answered(other, *chunks("yes")).text == "yes"


def test_parts_of_a_kind_that_is_not_known_are_passed_over() -> None:
    odd = [{"inlineData": {"data": "aGk="}}, {"executableCode": {"code": "1"}}, {}]
    response = answered(*(chunk(part) for part in odd), {"candidates": [{}]}, *chunks("hi"))
    assert (response.text, response.tool_calls) == ("hi", ())


@pytest.mark.parametrize("name", ["text", "thoughtSignature"])
def test_thinking_without_end_is_refused(name: str) -> None:
    with pytest.raises(TransientProviderError, match="longer than 1024 KB"):
        answered(chunk({"thought": True, name: "x" * (MAX_ANSWER_BYTES + 1)}))


@pytest.mark.parametrize("event", ["7", "[7]", "{", '{"candidates": {}}'])
def test_what_is_no_event_is_refused(event: str) -> None:
    with pytest.raises(WireError):
        WIRE.read(event, AnswerBuilder())


def test_models_that_can_talk_are_listed_by_their_bare_names() -> None:
    listed = {
        "models": [
            {"name": "models/gemini-fake", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/unsaid"},
        ]
    }
    assert WIRE.read_models(json.dumps(listed)) == ["gemini-fake", "unsaid"]


def test_the_window_is_known_of_the_family_alone() -> None:
    assert WIRE.capabilities("models/gemini-3.8-flash").context_tokens == 1_048_576
    assert WIRE.capabilities("gemma-4-31b-it").context_tokens is None


def test_one_document_is_an_array_of_the_same() -> None:
    response = answered(json.loads(gemini_service.whole("hi", [WRITE])))
    assert (response.text, len(response.tool_calls)) == ("hi", 1)
