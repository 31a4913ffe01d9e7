"""The embedder that the settings ask for; what it needs is loaded when it is first used."""

from pathlib import Path
from typing import TYPE_CHECKING

from agent.clock import Clock
from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.http import HttpClient

if TYPE_CHECKING:
    from agent.embeddings.keys import Key


def make_embedder(
    settings: EmbeddingsSettings,
    model_dir: Path,
    key: "Key | None",
    clock: Clock,
    http: HttpClient | None = None,
) -> Embedder:
    """Without a cache; a missing model is the embedder's own to tell, at its first use."""
    if settings.provider == "none":
        return NoEmbedder()
    if not settings.is_remote:
        return OnnxEmbedder(model_dir)
    from agent.embeddings.openai import OpenAIEmbedder  # noqa: PLC0415 - only for a service

    return OpenAIEmbedder(settings, key, http, clock)


def with_cache(
    embedder: Embedder, settings: EmbeddingsSettings, path: Path, clock: Clock
) -> Embedder:
    """The same embedder, which asks a service for no vector twice.

    Our own model makes a vector faster than it is written, and it lies beside its memory anyway.
    """
    if not settings.is_remote or not settings.cache_entries:
        return embedder
    from agent.embeddings.cache import CachedEmbedder  # noqa: PLC0415 - only for a service
    from agent.embeddings.cache_file import CacheFile  # noqa: PLC0415 - the same

    return CachedEmbedder(embedder, CacheFile(path, settings.cache_entries), clock)
