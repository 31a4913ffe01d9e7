import json
from typing import Any

import pytest
from msgspec.structs import replace

from agent.errors import TransientProviderError
from agent.messages import ChatMessage, Echo, Image, ToolCall
from agent.providers.answer import MAX_ANSWER_BYTES, AnswerBuilder
from agent.providers.base import ChatRequest, ChatResponse, Usage
from agent.providers.completions.dialect import OF_CALLS, UNSIGNED
from agent.providers.completions.wire import CompletionsWire
from agent.providers.wire import Sampling
from tests.fakes.said import assistant_said, system_said, tool_said, user_said

WIRE = CompletionsWire()
SAMPLING = Sampling("thinker", 0.5, 500)
CALL = ToolCall("call_1", "lamp", "{}")


def written(*messages: ChatMessage) -> list[dict[str, Any]]:
    dialect = WIRE.first_dialect("service.invalid", SAMPLING.model)
    body = json.loads(WIRE.write(ChatRequest(messages), SAMPLING, dialect).body)
    return list(body["messages"])


def answered(*deltas: dict[str, object], **last: object) -> ChatResponse:
    answer = AnswerBuilder(WIRE.name, SAMPLING.model)
    for delta in deltas:
        WIRE.read(json.dumps({"choices": [{"delta": delta}]}), answer)
    WIRE.read(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}], **last}), answer)
    return answer.response(500)


def test_thoughts_are_not_shown_and_go_back_with_the_results_of_their_calls() -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "lamp", "arguments": "{}"}}
    response = answered(
        {"reasoning_content": "The lamp "},
        {"reasoning_content": "is a led."},
        {"tool_calls": [call]},
    )
    assert response.text == ""
    said = assistant_said("", response.tool_calls, response.echo)
    sent = written(user_said("on"), said, tool_said(CALL, "ok"))
    assert sent[1]["reasoning_content"] == "The lamp is a led."


def test_details_of_thoughts_go_back_as_openrouter_demands_them() -> None:
    # Without them Gemini refuses the result: "Function call is missing a thought_signature"
    call = {"index": 0, "id": "call_1", "function": {"name": "lamp", "arguments": "{}"}}
    text = {"type": "reasoning.text", "format": "google-gemini-v1", "index": 0}
    signed = {
        "type": "reasoning.encrypted",
        "format": "google-gemini-v1",
        "index": 0,
        "id": "call_1",
        "data": "c2lnbmVk",
    }
    response = answered(
        {"reasoning": "The lamp ", "reasoning_details": [{**text, "text": "The lamp "}]},
        {"reasoning": "is a led.", "reasoning_details": [{**text, "text": "is a led."}]},
        {"reasoning_details": [{**text, "signature": "abc"}]},
        {"tool_calls": [call], "reasoning_details": [signed]},
    )
    assert (response.text, response.thoughts) == ("", "The lamp is a led.")
    said = assistant_said("", response.tool_calls, response.echo)
    sent = written(user_said("on"), said, tool_said(CALL, "ok"))[1]
    assert sent["reasoning_details"] == [
        {**text, "signature": "abc", "text": "The lamp is a led."},
        signed,
    ]
    assert "reasoning_content" not in sent
    assert sent["tool_calls"][0]["id"] == "call_1"


def test_blocks_of_thoughts_stay_apart() -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "lamp", "arguments": "{}"}}
    blocks = [{"type": "reasoning.text", "index": n, "text": f"thought {n}"} for n in range(3)]
    blocks += [{"type": "reasoning.summary", "index": 3, "summary": s} for s in ("a", "b")]
    response = answered(
        *({"reasoning_details": [block]} for block in blocks), {"tool_calls": [call]}
    )
    said = assistant_said("", response.tool_calls, response.echo)
    assert written(said, tool_said(CALL, "ok"))[0]["reasoning_details"] == blocks


def google_call(number: int, **more: object) -> dict[str, object]:
    return {"id": f"c{number}", "function": {"name": "lamp", "arguments": "{}"}, **more}


@pytest.mark.parametrize("kind", ["delta", "message"])
def test_signatures_of_calls_go_back_as_googles_own_address_demands_them(kind: str) -> None:
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    calls = [google_call(1, extra_content=signed), google_call(2)]
    # The end comes with the call
    answer = AnswerBuilder(WIRE.name, SAMPLING.model)
    choice = {kind: {"tool_calls": calls}, "finish_reason": "tool_calls", "index": 0}
    WIRE.read(json.dumps({"choices": [choice]}), answer)
    response = answer.response(500)
    said = assistant_said("", response.tool_calls, response.echo)
    sent = written(user_said("on"), said, *(tool_said(call, "ok") for call in said.tool_calls))[1]
    assert [call.get("extra_content") for call in sent["tool_calls"]] == [signed, None]
    assert [call["id"] for call in sent["tool_calls"]] == ["c1", "c2"]
    assert "extra_content" not in sent
    # What another model signed is no use
    other = assistant_said("", response.tool_calls, Echo("completions", "other", "{}"))
    assert all("extra_content" not in call for call in written(other)[0]["tool_calls"])


@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_each_signature_goes_back_with_its_own_call(index: dict[str, object]) -> None:
    calls = [google_call(n, extra_content={"n": n}, **index) for n in range(3)]
    deltas: list[dict[str, object]] = [{"tool_calls": [call]} for call in calls]
    thoughts = {"reasoning_content": "hm", "reasoning_details": [{"type": "x"}]}
    response = answered(deltas[0], thoughts, *deltas[1:])
    sent = written(assistant_said("", response.tool_calls, response.echo))[0]
    assert [call["extra_content"] for call in sent["tool_calls"]] == [{"n": n} for n in range(3)]
    assert (sent["reasoning_content"], sent["reasoning_details"]) == ("hm", [{"type": "x"}])


@pytest.mark.parametrize("details", ["hm", {"type": "reasoning.text"}, ["hm"], [], None])
def test_details_of_another_shape_are_passed_over(details: object) -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "lamp", "arguments": "{}"}}
    response = answered({"reasoning_details": details, "tool_calls": [call]})
    assert response.tool_calls == (CALL,)
    assert response.echo is None


def test_details_without_end_are_refused() -> None:
    piece = {"type": "reasoning.text", "index": 0, "text": "x" * (MAX_ANSWER_BYTES // 2)}
    with pytest.raises(TransientProviderError, match="longer than 1024 KB"):
        answered(*[{"reasoning_details": [piece]}] * 3)


def test_thoughts_of_an_answer_without_calls_are_not_kept() -> None:
    assert answered({"reasoning_content": "hm"}, {"content": "Done."}).echo is None


def test_thoughts_of_another_model_are_not_sent() -> None:
    echo = Echo("completions", "other", '{"reasoning_content":"x"}')
    said = assistant_said("", (CALL,), echo)
    assert "reasoning_content" not in written(said, tool_said(CALL, "ok"))[0]
    mine = replace(said, echo=replace(echo, model="thinker"))
    assert written(mine)[0]["reasoning_content"] == "x"


def test_several_system_messages_are_sent_as_one() -> None:
    sent = written(system_said("a"), system_said("b"), user_said("c"))
    assert sent == [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "c"}]


def test_a_picture_is_sent_within_the_request() -> None:
    message = replace(user_said("what is it?"), images=(Image("image/png", "aGk="),))
    assert written(message)[0]["content"] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]


def test_tokens_from_the_cache_are_told_apart() -> None:
    counted = {
        "prompt_tokens": 2000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1900},
    }
    assert answered({"content": "x"}, usage=counted).usage == Usage(2000, 5, 1900)
    deepseek = {"prompt_tokens": 2000, "completion_tokens": 5, "prompt_cache_hit_tokens": 1800}
    assert answered({"content": "x"}, usage=deepseek).usage == Usage(2000, 5, 1800)


def test_calls_that_another_service_made_are_said_to_be_unsigned_where_that_is_demanded() -> None:
    dialect = WIRE.first_dialect("generativelanguage.googleapis.com", SAMPLING.model)
    complaint = (
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly"
    )
    other = dialect.after_refusal(complaint)
    assert other is not None
    assert other.after_refusal(complaint) is None
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    own = json.dumps({OF_CALLS: {"0": {"extra_content": signed}}})
    two = (CALL, replace(CALL, call_id="call_2"))
    turn = (
        *(assistant_said("", two), *(tool_said(call, "ok") for call in two)),
        *(assistant_said("", two, Echo(WIRE.name, SAMPLING.model, own)), tool_said(CALL, "ok")),
    )
    body = json.loads(WIRE.write(ChatRequest(turn), SAMPLING, other).body)
    calls = [one["tool_calls"] for one in body["messages"] if "tool_calls" in one]
    assert [[call.get("extra_content") for call in made] for made in calls] == [
        [UNSIGNED["extra_content"], None],
        [signed, None],
    ]


def test_tokens_that_moonshot_tells_beside_its_answer_are_counted() -> None:
    counted = {"prompt_tokens": 1900, "completion_tokens": 79, "cached_tokens": 1800}
    last = {"delta": {}, "finish_reason": "stop", "usage": counted}
    assert answered({"content": "ok"}, choices=[last]).usage == Usage(1900, 79, 1800)


@pytest.mark.parametrize(
    ("counted", "usage"),
    [
        # OpenAI, whose answer has the thoughts in it; xAI and Gemini, whose has not
        ((26, 637, 663), Usage(26, 637)),
        ((10120, 1499, 14428), Usage(10120, 4308)),
        ((21, 0, 81), Usage(21, 60)),
        ((None, 5, 81), Usage(0, 5)),
        ((7, 5, None), Usage(7, 5)),
        ((7, 5, 3), Usage(7, 5)),
    ],
)
def test_thoughts_are_counted_wherever_a_service_counts_them(
    counted: tuple[int | None, int, int | None], usage: Usage
) -> None:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    answer = AnswerBuilder()
    WIRE.read(json.dumps({"usage": dict(zip(names, counted, strict=True))}), answer)
    assert answer.usage == usage
