"""Embedder that the settings choose, with its key and its cache; loaded on first use."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.embeddings.settings import EmbeddingsSettings
from agent.net.http import HttpClient
from agent.providers import catalog
from agent.providers.catalog import OPENAI
from agent.providers.credentials import find_key
from agent.providers.settings import ProviderSettings
from agent.security.redact import Redactor
from agent.settings import Paths, Settings
from agent.system.clock import Clock, SystemClock

if TYPE_CHECKING:
    from agent.embeddings.keys import Key


def embedder_of(
    settings: Settings, paths: Paths, environ: Mapping[str, str], http: HttpClient | None = None
) -> Embedder:
    """Return the embedder without a cache; a missing model shows at its first use.

    Raises:
        ConfigRefused: the key of the service is malformed.
    """
    wanted = settings.embeddings
    key = embedding_key(wanted, environ)
    return make_embedder(wanted, paths.model_dir, key, SystemClock(), http)


def embedding_key(settings: EmbeddingsSettings, environ: Mapping[str, str]) -> "Key | None":
    """Return the key for the embedding service; None if none is needed or configured.

    Raises:
        ConfigRefused: the key is malformed.
    """
    if not settings.is_remote:
        return None
    # A key of OpenAI's is nobody else's, as for language models
    service = OPENAI if settings.provider == OPENAI.name else catalog.find(settings.provider)
    found = find_key(ProviderSettings(api_key=settings.api_key), environ, service)
    if found is None:
        return None
    from agent.embeddings.keys import Key  # noqa: PLC0415 - only for a service

    return Key(found.key, "embeddings.api_key" if settings.api_key else found.source)


def open_embedder(
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    http: HttpClient,
    redactor: Redactor,
) -> Embedder:
    """Return the embedder with its cache; the key is kept out of texts."""
    if (key := embedding_key(settings.embeddings, environ)) is not None:
        redactor.add(key.secret)
    embedder = embedder_of(settings, paths, environ, http)
    return with_cache(embedder, settings.embeddings, paths.embeddings_db, SystemClock())


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
