from pathlib import Path

import pytest

from agent.config import ConfigSection, Secret, decode
from agent.embeddings.settings import OFFICIAL_URL, EmbeddingsSettings, service_url
from agent.errors import ConfigRefused


class File(ConfigSection, frozen=True, kw_only=True):
    embeddings: EmbeddingsSettings = EmbeddingsSettings()


def loaded(text: str) -> EmbeddingsSettings:
    return decode(f"[embeddings]\n{text}", File, Path("barnacle.toml")).embeddings


def test_the_model_of_this_machine_is_the_default() -> None:
    assert loaded("") == EmbeddingsSettings(provider="onnx", model_dir="")
    assert not loaded("").is_remote


def test_every_key_of_a_service_can_be_set() -> None:
    settings = loaded(
        'provider = "custom:http://127.0.0.1:11434"\nmodel = "bge-m3"\ndimensions = 1024\n'
        'api_key = "sk-canary"\ncache_entries = 0'
    )
    assert settings.is_remote
    assert settings.api_key == Secret("sk-canary")
    assert "canary" not in repr(settings)


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("openai", OFFICIAL_URL),
        ("custom:http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("custom:https://api.example.org/v2/", "https://api.example.org/v2"),
        ("custom:https://api.example.org/v1/embeddings", "https://api.example.org/v1"),
    ],
)
def test_a_service_has_an_address(provider: str, url: str) -> None:
    assert service_url(provider) == url


@pytest.mark.parametrize(
    "provider",
    [
        "cloud",
        "custom:",
        "custom:ftp://example.org",
        "custom:http://",
        "custom:http://[::1",
        "custom:http://example.org:0",
        "custom:http://user:pass@example.org",
        "custom:http://example.org/?key=1",
        "custom:http://exa mple.org",
    ],
)
def test_an_unknown_provider_is_refused_by_its_key(provider: str) -> None:
    with pytest.raises(ConfigRefused, match=r"`embeddings\.provider`: "):
        loaded(f'provider = "{provider}"')
