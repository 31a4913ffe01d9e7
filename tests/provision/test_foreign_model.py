"""Addresses of model services: what is spoken there is spoken by this agent, too."""

import pytest

from agent.provision.foreign_model import AskedModel, provider_table


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        # OpenClaw's docs/gateway/configuration-examples.md
        (
            AskedModel("minimax", "M2", "https://api.minimax.io/anthropic", "anthropic-messages"),
            {"kind": "anthropic-custom:https://api.minimax.io/anthropic/v1"},
        ),
        (
            AskedModel("custom-proxy", "x", "http://pc:4000/v1", "openai-responses"),
            {"kind": "openai-responses", "base_url": "http://pc:4000/v1"},
        ),
        (
            AskedModel("mine", "x", "http://pc:4000/v1/", "openai-completions"),
            {"kind": "custom:http://pc:4000/v1"},
        ),
        (
            AskedModel("lmstudio", "x", "http://pc:1234/v1", "openai-completions"),
            {"kind": "lmstudio", "base_url": "http://pc:1234/v1"},
        ),
        # nanobot's and OpenClaw's older way of Ollama: `/v1/chat` is nowhere
        (
            AskedModel("ollama", "qwen3", "http://pc:11434/v1", "openai-completions"),
            {"kind": "ollama", "base_url": "http://pc:11434"},
        ),
        (AskedModel("ollama", "qwen3", "http://pc:11434"), {"base_url": "http://pc:11434"}),
        # nanobot's `custom`
        (AskedModel("custom", "x", "http://pc:8000/v1"), {"kind": "custom:http://pc:8000/v1"}),
        (
            AskedModel("anthropic", "x", "https://proxy.example.org/claude"),
            {"kind": "anthropic", "base_url": "https://proxy.example.org/claude/v1"},
        ),
        # ZeroClaw's, which adds `/v1/messages`
        (
            AskedModel("anthropic-custom:https://proxy.example.org/claude", "x"),
            {"kind": "anthropic-custom:https://proxy.example.org/claude/v1"},
        ),
        (AskedModel("openrouter", "x"), {"kind": "openrouter"}),
    ],
)
def test_an_address_is_spoken_to_as_before(asked: AskedModel, place: dict[str, str]) -> None:
    table = provider_table(asked, "sk-x", [])
    usual = {"kind": asked.kind, "model": asked.model, "api_key": "sk-x"}
    assert table == usual | place
