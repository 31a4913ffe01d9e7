"""The window of a model: configured, or learnt from the refusal of what was too long."""

import pytest

from agent.providers import complaints
from agent.providers.base import ChatRequest
from agent.providers.settings import ProviderSettings
from agent.providers.wire import Sampling
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


@pytest.mark.parametrize(("body", "tokens"), [(LLAMA, 4096), (VLLM, 8192), (LMSTUDIO, 4096)])
def test_the_window_is_read_from_a_refusal(body: str, tokens: int) -> None:
    assert complaints.window(body) == tokens


@pytest.mark.parametrize("body", ["", "prompt is too long: 5004 tokens", '{"n_ctx":"x"}'])
def test_a_refusal_without_it_says_nothing(body: str) -> None:
    assert complaints.window(body) is None


def test_the_smaller_limit_of_an_answer_counts() -> None:
    usual = Sampling("m", 0.7, 512)
    assert usual.of(ChatRequest((user_said("hi"),), max_tokens=1024)).max_tokens == 512
    assert usual.of(ChatRequest((user_said("hi"),), max_tokens=256)).max_tokens == 256
    assert usual.of(ChatRequest((user_said("hi"),))).max_tokens == 512


def test_a_window_without_room_for_a_prompt_is_refused() -> None:
    assert ProviderSettings(context_tokens=0).context_tokens == 0
    with pytest.raises(ValueError, match="at least 1024"):
        ProviderSettings(context_tokens=512)
