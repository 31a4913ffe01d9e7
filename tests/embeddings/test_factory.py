from pathlib import Path

import pytest

from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.embeddings.cache import CachedEmbedder
from agent.embeddings.factory import make_embedder, with_cache
from agent.embeddings.keys import Key
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.openai import OpenAIEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock

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
