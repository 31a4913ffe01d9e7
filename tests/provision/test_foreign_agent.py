"""Folders of other agents as their own documents and programs write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.provision.foreign_agent import read_agent

# What nanobot writes of itself into each file
_USUAL = {"model": "anthropic/claude-opus-4-5", "provider": "auto"}


@pytest.mark.parametrize(
    ("config", "provider"),
    [
        # Its docs/provider-cookbook.md: a preset goes before the usual model, which stays there
        (
            {
                "providers": {"anthropic": {"apiKey": None}, "openrouter": {"apiKey": "sk-or"}},
                "modelPresets": {
                    "primary": {"provider": "openrouter", "model": "anthropic/claude-sonnet-4.5"}
                },
                "agents": {"defaults": {**_USUAL, "modelPreset": "primary"}},
            },
            {"kind": "openrouter", "model": "anthropic/claude-sonnet-4.5", "api_key": "sk-or"},
        ),
        # The maker has no key: its `_match_provider` takes the gateway that has one
        (
            {
                "providers": {"anthropic": {"apiKey": ""}, "openrouter": {"apiKey": "sk-or"}},
                "agents": {"defaults": _USUAL},
            },
            {"kind": "openrouter", "model": "anthropic/claude-opus-4-5", "api_key": "sk-or"},
        ),
        # No maker in front of the model
        (
            {
                "providers": {"openai": {"apiKey": "sk-o"}},
                "agents": {"defaults": {"model": "gpt-5", "provider": "auto"}},
            },
            {"kind": "openai", "model": "gpt-5", "api_key": "sk-o"},
        ),
        # Services are named in one way, their tables are written in another
        (
            {
                "providers": {"lmStudio": {"apiBase": "http://pc:1234/v1", "apiKey": "x"}},
                "agents": {"defaults": {"model": "qwen3", "provider": "lm_studio"}},
            },
            {
                "kind": "lm-studio",
                "model": "qwen3",
                "base_url": "http://pc:1234/v1",
                "api_key": "x",
            },
        ),
        (
            {
                "providers": {"anthropic": {"apiKey": "sk-a"}, "openrouter": {"apiKey": "sk-or"}},
                "agents": {"defaults": _USUAL},
            },
            {"kind": "anthropic", "model": "claude-opus-4-5", "api_key": "sk-a"},
        ),
    ],
)
def test_nanobots_model_is_the_one_that_it_would_ask(
    tmp_path: Path, config: dict[str, Any], provider: dict[str, str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_agent(tmp_path).provider == provider
