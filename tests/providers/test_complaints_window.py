"""The window of a model: configured, or learnt from the refusal of what was too long."""

import json

import pytest

from agent.errors import ContextOverflow
from agent.net.http import HttpClient
from agent.providers import complaints
from agent.providers.base import ChatRequest
from agent.providers.create import service_provider
from agent.providers.failures import ServiceRefusal, ServiceTarget, explain
from agent.providers.settings import ProviderSettings
from agent.providers.wire import Sampling
from agent.security.redact import Redactor
from tests.fakes.llm_server import Reply, failed, running, streamed
from tests.fakes.said import user_said

LLAMA = (
    '{"error":{"code":400,"message":"request (5004 tokens) exceeds the available context size '
    '(4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5004,'
    '"n_ctx":4096}}'
)
VLLM = (
    '{"message":"This model\'s maximum context length is 8192 tokens. However, you requested 9000 '
    'tokens"}'
)
LMSTUDIO = (
    '{"error":"Trying to keep the first 5043 tokens when context the overflows. However, the model '
    'is loaded with context length of only 4096 tokens, which is not enough."}'
)


# Word for word from vLLM 0.32; the second is what releases before it say
VLLM_ANSWER = (
    "max_tokens=4096 cannot be greater than max_model_len=2048. Please request fewer output "
    "tokens. (parameter=max_tokens, value=4096)"
)
VLLM_OLDER_ANSWER = (
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context "
    "length is 2048 tokens and your request has 21 input tokens (4096 > 2048 - 21)."
)


@pytest.mark.parametrize(("body", "tokens"), [(LLAMA, 4096), (VLLM, 8192), (LMSTUDIO, 4096)])
def test_the_window_is_read_from_a_refusal(body: str, tokens: int) -> None:
    assert complaints.window(body) == tokens


@pytest.mark.parametrize("body", ["", "prompt is too long: 5004 tokens", '{"n_ctx":"x"}'])
def test_a_refusal_without_it_says_nothing(body: str) -> None:
    assert complaints.window(body) is None


@pytest.mark.parametrize("complaint", [VLLM_ANSWER, VLLM_OLDER_ANSWER])
async def test_a_window_below_the_limit_of_an_answer_is_learnt_at_once(complaint: str) -> None:
    refused = failed(400, complaint, type="BadRequestError", param="max_tokens", code=400)
    http = HttpClient()
    try:
        async with running(refused, streamed("It is on."), streamed("It is off.")) as server:
            settings = ProviderSettings(kind="vllm", base_url=server.base_url, model="m")
            provider = service_provider(settings, {}, http)
            answers = [
                (await provider.chat(ChatRequest((user_said("hi"),)))).text for _ in range(2)
            ]
    finally:
        await http.aclose()
    assert answers == ["It is on.", "It is off."]
    limits = [one.body["max_tokens"] for one in server.requests]
    assert limits == [4096, 512, 512]
    assert provider.capabilities().context_tokens == 2048


def test_a_limit_that_is_wrong_for_another_reason_tells_no_window() -> None:
    assert complaints.answer_window(VLLM) is None
    assert complaints.answer_window("max_tokens is not supported with this model") is None


def test_the_smaller_limit_of_an_answer_counts() -> None:
    usual = Sampling("m", 0.7, 512)
    assert usual.of(ChatRequest((user_said("hi"),), max_tokens=1024)).max_tokens == 512
    assert usual.of(ChatRequest((user_said("hi"),), max_tokens=256)).max_tokens == 256
    assert usual.of(ChatRequest((user_said("hi"),))).max_tokens == 512


def test_a_window_without_room_for_a_prompt_is_refused() -> None:
    assert ProviderSettings(context_tokens=0).context_tokens == 0
    with pytest.raises(ValueError, match="at least 1024"):
        ProviderSettings(context_tokens=512)


SERVICE = ServiceTarget("https://s.example/v1", "s.example", "some-model", "", Redactor())


# Word for word; the older of two sentences where a server has changed its own
TOO_LONG = (
    (
        (
            "Trying to keep the first 5043 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens, which is not enough."
        ),
        4096,
    ),
    ("The input (61709 tokens) is longer than the model's context length (40960 tokens).", 40960),
    ("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", None),
    ("Requested token count exceeds the model's maximum context length of 131072 tokens.", 131072),
    ("The decoder prompt (length 66501) is longer than the maximum model length of 65536.", 65536),
    ("Prompt has 41768 tokens, but the configured context size is 32768 tokens", 32768),
    ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9000]", 9000),
    # vLLM of 2026, and what is built on it
    (
        (
            "You passed 27905 input tokens and requested 4096 output tokens. However, the model's "
            "context length is only 32000 tokens, resulting in a maximum input length of 27904 "
            "tokens. Please reduce the length of the input prompt."
        ),
        32000,
    ),
    ("Context size has been exceeded.", None),
    ("Requested input length 132490 exceeds maximum input length 32767", 32767),
    (
        (
            "Requested generation length 1 is not possible! The provided prompt is 4309 tokens "
            "long, so generating 1 tokens requires a sequence length of 4310, but the maximum "
            "supported sequence length is just 4096!"
        ),
        4096,
    ),
    ("Prompt is 11543 tokens but the model context window is 4096 tokens.", 4096),
    ("Prompt length 40000 is larger than the model's context size", None),
    ("tokens in request more than max tokens allowed", None),
    ("Input validation error: `inputs` must have less than 4095 tokens. Given: 4100", None),
    ("The number of input tokens exceeds maximum length.", None),
)


@pytest.mark.parametrize(("message", "tokens"), TOO_LONG)
def test_a_conversation_that_is_too_long_for_a_local_server_or_alibaba(
    message: str, tokens: int | None
) -> None:
    body = json.dumps({"error": {"message": message, "code": 400}})
    for status in (400, 500):
        found = explain(SERVICE, ServiceRefusal(status, body))
        assert isinstance(found, ContextOverflow)
        assert found.window_tokens == tokens


GROQ_ANSWER = (
    "`max_tokens` must be less than or equal to `131072`, the maximum value for `max_tokens` is "
    "less than the `context_window` for this model"
)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        # Groq and Cloudflare, of the answer's limit: a shorter conversation has the same one
        (400, GROQ_ANSWER),
        (400, "max_completion_tokens is too large: 262144. This model supports at most 256000"),
        # Google and Anthropic, of a rate
        (429, "Quota exceeded for metric: free_tier_input_token_count, limit: 250000, in 31s"),
        (429, "This request would exceed the limit of 40,000 input tokens per minute"),
        (401, "The context length is only 32000 tokens for this key"),
        (400, "messages.3.content.0.image: image exceeds 5 MB maximum"),
        (400, "Conversation roles must alternate"),
    ],
)
def test_other_limits_are_no_conversation_that_is_too_long(status: int, message: str) -> None:
    body = json.dumps({"error": {"message": message}})
    assert not isinstance(explain(SERVICE, ServiceRefusal(status, body)), ContextOverflow)


def test_an_argument_that_is_too_long_is_no_conversation() -> None:
    body = '{"error":{"message":"Invalid \'tools[0].name\': string too long. Expected 64."}}'
    assert not isinstance(explain(SERVICE, ServiceRefusal(400, body)), ContextOverflow)


@pytest.mark.parametrize("body", [f"error: {LLAMA[9:-1]}\n\ndata: [DONE]\n\n", LLAMA])
async def test_a_refusal_beside_the_events_of_a_stream_is_heard(body: str) -> None:
    # llama.cpp of 2025 has a field of its own for it; gateways pass it on as it came
    http = HttpClient()
    try:
        async with running(Reply(body=body.encode())) as server:
            settings = ProviderSettings(kind="llamacpp", base_url=server.base_url, model="m")
            with pytest.raises(ContextOverflow):
                await service_provider(settings, {}, http).chat(ChatRequest((user_said("hi"),)))
    finally:
        await http.aclose()
