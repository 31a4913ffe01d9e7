"""The embedder that the settings ask for; what it needs is loaded when it is first used."""

from pathlib import Path

from agent.clock import Clock
from agent.embeddings.base import Embedder
from agent.embeddings.cache import CachedEmbedder
from agent.embeddings.cache_file import CacheFile
from agent.embeddings.keys import Key
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.http import HttpClient


def make_embedder(
    settings: EmbeddingsSettings,
    model_dir: Path,
    key: Key | None,
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
    """The same embedder, which makes no vector twice."""
    if settings.provider == "none" or not settings.cache_entries:
        return embedder
    return CachedEmbedder(embedder, CacheFile(path, settings.cache_entries), clock)
