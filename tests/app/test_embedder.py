from pathlib import Path

import pytest

from agent.app.embedder import embedder_of, embedding_key, make_embedder, with_cache
from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.embeddings.cache import CachedEmbedder
from agent.embeddings.keys import Key
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.openai import OpenAIEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.errors import ConfigRefused
from agent.settings import Paths, Settings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock

REMOTE = EmbeddingsSettings(provider="openai", api_key=Secret(secret("own")))


def test_the_configured_key_wins_over_the_environment() -> None:
    key = embedding_key(REMOTE, {"OPENAI_API_KEY": secret("environ")})
    assert key is not None
    assert (key.secret, key.source) == (Secret(secret("own")), "embeddings.api_key")


def test_without_one_the_environment_is_asked_as_for_a_language_model() -> None:
    key = embedding_key(EmbeddingsSettings(provider="openai"), {"API_KEY": secret("environ")})
    assert key is not None
    assert (key.secret, key.source) == (Secret(secret("environ")), "API_KEY")


def test_a_server_of_ones_own_is_not_given_the_key_of_openai() -> None:
    own = EmbeddingsSettings(provider="custom:http://192.168.1.5:8080/v1")
    environ = {"OPENAI_API_KEY": secret("openai")}
    assert embedding_key(own, environ) is None
    key = embedding_key(own, {**environ, "BARNACLE_API_KEY": secret("environ")})
    assert key is not None
    assert (key.secret, key.source) == (Secret(secret("environ")), "BARNACLE_API_KEY")
    assert embedding_key(EmbeddingsSettings(provider="openai"), environ) is not None


@pytest.mark.parametrize("provider", ["onnx", "none"])
def test_a_model_of_this_machine_is_given_no_key(provider: str) -> None:
    assert (
        embedding_key(EmbeddingsSettings(provider=provider), {"API_KEY": secret("environ")}) is None
    )


def test_what_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(ConfigRefused):
        embedding_key(EmbeddingsSettings(provider="openai"), {"API_KEY": "two words"})


@pytest.mark.parametrize(
    ("settings", "kind"),
    [(REMOTE, OpenAIEmbedder), (EmbeddingsSettings(provider="none"), NoEmbedder)],
)
async def test_the_embedder_is_the_configured_one(
    settings: EmbeddingsSettings, kind: type, tmp_path: Path
) -> None:
    embedder = embedder_of(Settings(embeddings=settings), Paths(None, tmp_path), {})
    assert type(embedder) is kind
    await embedder.aclose()


KEY = Key(Secret(secret("embeddings")), "embeddings.api_key")


def made(settings: EmbeddingsSettings) -> Embedder:
    return make_embedder(settings, Path("model"), KEY, SteppedClock())


@pytest.mark.parametrize(
    ("provider", "kind"),
    [
        ("none", NoEmbedder),
        ("onnx", OnnxEmbedder),
        ("openai", OpenAIEmbedder),
        ("custom:http://127.0.0.1:1", OpenAIEmbedder),
    ],
)
async def test_the_settings_choose(provider: str, kind: type) -> None:
    embedder = made(EmbeddingsSettings(provider=provider))
    assert type(embedder) is kind
    await embedder.aclose()


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (EmbeddingsSettings(), OnnxEmbedder),
        (EmbeddingsSettings(provider="openai"), CachedEmbedder),
        (EmbeddingsSettings(provider="openai", cache_entries=0), OpenAIEmbedder),
        (EmbeddingsSettings(provider="none"), NoEmbedder),
    ],
    ids=str,
)
async def test_a_cache_stands_before_a_service_alone(
    settings: EmbeddingsSettings, kind: type, tmp_path: Path
) -> None:
    embedder = with_cache(made(settings), settings, tmp_path / "embeddings.db", SteppedClock())
    assert type(embedder) is kind
    await embedder.aclose()
