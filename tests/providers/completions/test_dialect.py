import json
import re

import pytest

from agent.messages import ChatMessage, Echo, Effect, ToolCall, ToolSpec
from agent.providers.base import ChatRequest
from agent.providers.completions import dialect
from agent.providers.completions.dialect import (
    LONGEST_KEPT_BYTES,
    OFFICIAL_HOST,
    CompletionsDialect,
    encode,
)
from agent.providers.wire import Sampling
from tests.fakes.llm_server import JSON, Reply, failed, streamed
from tests.fakes.llm_talk import asking
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

SAMPLING = Sampling("some-model", 0.7, 4096)
NO_ARGUMENTS = {"type": "object", "properties": {}}


def body_of(request: ChatRequest, dialect: CompletionsDialect | None = None) -> dict[str, object]:
    decoded = json.loads(encode(request, SAMPLING.of(request), dialect or CompletionsDialect()))
    assert isinstance(decoded, dict)
    return decoded


def asked(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = ()) -> ChatRequest:
    return ChatRequest(messages or (user_said("hi"),), tools)


def spec(name: str) -> ToolSpec:
    return spec_of(name, f"what {name} does", NO_ARGUMENTS, Effect.READ)


def test_a_plain_request() -> None:
    assert body_of(asked(system_said("be brief"), user_said("hi"))) == {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
        "max_tokens": 4096,
        "temperature": 0.7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_a_request_says_itself_wins() -> None:
    request = ChatRequest((user_said("hi"),), (), "other", 0.0, 7)
    body = body_of(request)
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("other", 0.0, 7)


def test_tools_are_sorted_so_that_the_beginning_of_a_request_stays_the_same() -> None:
    one = encode(asked(tools=(spec("b"), spec("a"))), SAMPLING, CompletionsDialect())
    other = encode(asked(tools=(spec("a"), spec("b"))), SAMPLING, CompletionsDialect())
    assert one == other
    assert body_of(asked(tools=(spec("a"),)))["tools"] == [
        {
            "type": "function",
            "function": {"name": "a", "description": "what a does", "parameters": NO_ARGUMENTS},
        }
    ]


def test_every_turn_of_the_conversation_is_sent_with_its_calls_and_results() -> None:
    call = ToolCall("call_1", "board_adc_read", '{"pin":"a0"}')
    body = body_of(
        asked(
            user_said("light?"),
            assistant_said("", (call,)),
            tool_said(call, '{"value":1}'),
            assistant_said("1 V"),
            user_said("thanks"),
        )
    )
    function = {"name": "board_adc_read", "arguments": '{"pin":"a0"}'}
    assert body["messages"] == [
        {"role": "user", "content": "light?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": '{"value":1}', "tool_call_id": "call_1"},
        {"role": "assistant", "content": "1 V"},
        {"role": "user", "content": "thanks"},
    ]


@pytest.mark.parametrize("text", ["", "\n\n", " "])
def test_blanks_beside_a_call_are_no_content(text: str) -> None:
    call = ToolCall("call_1", "a", "{}")
    (message,) = body_of(asked(assistant_said(text, (call,))))["messages"]
    assert message["content"] is None


@pytest.mark.parametrize("written", ["", "{broken", "[1]", '"text"', "[" * 100])
def test_broken_arguments_of_the_past_do_not_break_the_conversation(written: str) -> None:
    call = ToolCall("call_1", "a", written)
    (message,) = json.loads(
        encode(asked(assistant_said("", (call,))), SAMPLING, CompletionsDialect())
    )["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_lone_half_of_a_character_costs_only_itself() -> None:
    assert body_of(asked(user_said("a\ud83db")))["messages"] == [{"role": "user", "content": "a?b"}]


def test_half_a_character_beside_what_was_written_before_costs_only_itself() -> None:
    said = (system_said("a\ud83db"), user_said('é "quoted"'))
    for _ in range(2):
        assert body_of(asked(*said))["messages"] == [
            {"role": "system", "content": "a?b"},
            {"role": "user", "content": 'é "quoted"'},
        ]


def test_a_message_is_written_once_however_often_it_is_sent() -> None:
    said = [user_said("short"), user_said("long" * LONGEST_KEPT_BYTES)]
    one, other = (dialect._written.each(said) for _ in range(2))
    assert one == other
    assert [first is second for first, second in zip(one, other, strict=True)] == [True, False]


def test_each_parameter_in_the_other_dialect() -> None:
    dialect = CompletionsDialect(
        "max_completion_tokens", takes_temperature=False, effort="none", takes_stream_options=False
    )
    body = body_of(asked(tools=(spec("a"),)), dialect)
    assert body["max_completion_tokens"] == 4096
    assert body["reasoning_effort"] == "none"
    assert not {"max_tokens", "temperature", "stream_options"} & set(body)


def test_without_tools_the_effort_is_the_models_own() -> None:
    assert "reasoning_effort" not in body_of(asked(), CompletionsDialect(effort="none"))


def test_the_official_service_is_asked_with_the_newer_name() -> None:
    assert CompletionsDialect.of_host(OFFICIAL_HOST).tokens_key == "max_completion_tokens"
    assert CompletionsDialect.of_host("127.0.0.1:8080").tokens_key == "max_tokens"


@pytest.mark.parametrize(
    ("before", "complaint", "after"),
    [
        (
            CompletionsDialect(),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead. max_tokens"
            ),
            CompletionsDialect("max_completion_tokens"),
        ),
        (
            CompletionsDialect("max_completion_tokens"),
            "Unrecognized request argument supplied: max_completion_tokens",
            CompletionsDialect("max_tokens"),
        ),
        (
            CompletionsDialect(),
            (
                "Unsupported value: 'temperature' does not support 0.7 with this model. "
                "Only the default (1) value is supported."
            ),
            CompletionsDialect(takes_temperature=False),
        ),
        # Kimi, GLM, Mistral
        *(
            (CompletionsDialect(), complaint, CompletionsDialect(takes_temperature=False))
            for complaint in (
                "invalid temperature: only 1 is allowed for this model",
                "temperature\u53c2\u6570\u975e\u6cd5\u3002\u8bf7\u68c0\u67e5\u6587\u6863\u3002",
                "[{'loc': ['body', 'temperature'], 'msg': 'Input should be less than 1'}]",
            )
        ),
        (
            CompletionsDialect(),
            (
                "Function tools with reasoning_effort are not supported for gpt-5.6-luna in "
                "/v1/chat/completions. To use function tools, use /v1/responses or set "
                "reasoning_effort to 'none'."
            ),
            CompletionsDialect(effort="none"),
        ),
        (
            CompletionsDialect(),
            (
                "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options'], "
                "'msg': 'Extra inputs are not permitted'}]"
            ),
            CompletionsDialect(takes_stream_options=False),
        ),
        (
            CompletionsDialect(),
            "max_tokens is too large: 100000. This model supports at most 4096",
            None,
        ),
        (CompletionsDialect(), "This model's maximum context length is 8192 tokens", None),
        (CompletionsDialect(), "Unsupported parameter: 'seed'", None),
        (CompletionsDialect(effort="none"), "reasoning_effort does not support 'none'", None),
        (CompletionsDialect(takes_temperature=False), "temperature is not supported", None),
        (CompletionsDialect(takes_stream_options=False), "stream_options is not supported", None),
        (CompletionsDialect(), "", None),
    ],
)
def test_what_is_learned_from_a_refusal(
    before: CompletionsDialect, complaint: str, after: CompletionsDialect | None
) -> None:
    assert before.after_refusal(complaint) == after


@pytest.mark.parametrize(
    "complaint",
    [
        # Mistral, OpenAI, Kimi, Anthropic behind a gateway
        "Tool call id was call_7 but must be a-z, A-Z, 0-9, with a length of 9.",
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a length of 40.",
        "tool call id grep:3 is duplicated",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "messages.3.content.0: `tool_use` ids must be unique",
    ],
)
def test_ids_of_another_service_are_replaced_where_they_are_refused(complaint: str) -> None:
    call = ToolCall("chatcmpl-tool-0123456789abcdef0123456789abcdef", "lamp", "{}")
    turn = (user_said("on"), assistant_said("", (call,)), tool_said(call, "done"))
    request = asked(*turn, *turn, user_said("and?"))
    assert call.call_id in str(body_of(request))
    other = CompletionsDialect().after_refusal(complaint)
    assert other is not None
    messages = body_of(request, other)["messages"]
    assert isinstance(messages, list)
    calls = [one["tool_calls"][0]["id"] for one in messages if "tool_calls" in one]
    assert calls == [one["tool_call_id"] for one in messages if one["role"] == "tool"]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", call_id) for call_id in calls)
    assert len(set(calls)) == 2
    assert body_of(request, other)["messages"] == messages
    assert other.after_refusal(complaint) is None


async def test_a_service_with_other_ids_goes_on_with_the_conversation() -> None:
    call = ToolCall("call_0123456789abcdef", "lamp", "{}")
    request = asked(
        user_said("on"), assistant_said("", (call,)), tool_said(call, "done"), user_said("and?")
    )

    def mistral(body: dict[str, object]) -> Reply:
        if call.call_id in str(body):
            why = f"Tool call id was {call.call_id} but must be a-z, A-Z, 0-9, with a length of 9."
            told = {"object": "error", "message": why, "type": "invalid_function_call"}
            return Reply(json.dumps({**told, "param": None, "code": "3280"}).encode(), 400, JSON)
        return streamed("It is on.")

    async with asking(mistral) as (_, provider):
        assert (await provider.chat(request)).text == "It is on."


@pytest.mark.parametrize(
    "complaint",
    [
        # Kimi, DeepSeek before and since its fourth version
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ],
)
async def test_a_service_that_wants_old_thoughts_back_goes_on_with_the_conversation(
    complaint: str,
) -> None:
    call = ToolCall("call_1", "lamp", "{}")
    request = asked(
        *(user_said("on"), assistant_said("", (call,)), tool_said(call, "done")),
        *(assistant_said("It is on."), user_said("and now?")),
    )

    def thinker(body: dict[str, object]) -> Reply:
        messages = body["messages"]
        assert isinstance(messages, list)
        answers = [one for one in messages if one["role"] == "assistant"]
        # Kimi does not count an empty one
        if not all(one.get("reasoning_content") for one in answers):
            return failed(400, complaint, type="invalid_request_error")
        assert not any("reasoning_content" in one for one in messages if one not in answers)
        return streamed("It is off.")

    async with asking(thinker) as (server, provider):
        assert (await provider.chat(request)).text == "It is off."
        assert (await provider.chat(request)).text == "It is off."
    assert len(server.requests) == 3


def test_thoughts_that_are_known_are_sent_where_they_are_wanted() -> None:
    echo = Echo("", SAMPLING.model, '{"reasoning_content":"The lamp is a led."}')
    known = assistant_said("", (ToolCall("call_1", "lamp", "{}"),), echo)
    sent = body_of(asked(known), CompletionsDialect(wants_thoughts=True))["messages"]
    assert isinstance(sent, list)
    assert sent[0]["reasoning_content"] == "The lamp is a led."
