from pathlib import Path

import pytest

from agent.app.embedder import embedder_of, embedding_key
from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.embeddings.openai import OpenAIEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.errors import ConfigRefused
from agent.settings import Paths, Settings
from tests.canaries import secret

REMOTE = EmbeddingsSettings(provider="openai", api_key=Secret(secret("own")))


def test_the_configured_key_wins_over_the_environment() -> None:
    key = embedding_key(REMOTE, {"OPENAI_API_KEY": secret("environ")})
    assert key is not None
    assert (key.secret, key.source) == (Secret(secret("own")), "embeddings.api_key")


def test_without_one_the_environment_is_asked_as_for_a_language_model() -> None:
    key = embedding_key(EmbeddingsSettings(provider="openai"), {"API_KEY": secret("environ")})
    assert key is not None
    assert (key.secret, key.source) == (Secret(secret("environ")), "API_KEY")


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
