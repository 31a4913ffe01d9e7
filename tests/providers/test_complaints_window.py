"""The window of a model: configured, or learnt from the refusal of what was too long."""

import pytest

from agent.net.http import HttpClient
from agent.providers import complaints
from agent.providers.base import ChatRequest
from agent.providers.create import service_provider
from agent.providers.settings import ProviderSettings
from agent.providers.wire import Sampling
from tests.fakes.llm_server import failed, running, streamed
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
