"""Factory of the configured embedder; its needs are loaded on first use."""

from pathlib import Path
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.net.http import HttpClient
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.embeddings.keys import Key


def make_embedder(
    settings: EmbeddingsSettings,
    model_dir: Path,
    key: "Key | None",
    clock: Clock,
    http: HttpClient | None = None,
) -> Embedder:
    """Return the embedder without a cache; a missing model shows at its first use."""
    if settings.provider == "none":
        return NoEmbedder()
    if not settings.is_remote:
        return OnnxEmbedder(model_dir)
    from agent.embeddings.openai import OpenAIEmbedder  # noqa: PLC0415 - only for a service

    return OpenAIEmbedder(settings, key, http, clock)


def with_cache(
    embedder: Embedder, settings: EmbeddingsSettings, path: Path, clock: Clock
) -> Embedder:
    """Return an embedder that asks a service for no vector twice.

    Our own model makes a vector faster than it is written, and it lies beside its memory anyway.
    """
    if not settings.is_remote or not settings.cache_entries:
        return embedder
    from agent.embeddings.cache import CachedEmbedder  # noqa: PLC0415 - only for a service
    from agent.embeddings.cache_file import CacheFile  # noqa: PLC0415 - the same

    return CachedEmbedder(embedder, CacheFile(path, settings.cache_entries), clock)
