"""The embedder that the settings ask for, with the key that a service needs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.embeddings.factory import make_embedder, with_cache
from agent.embeddings.settings import EmbeddingsSettings
from agent.net.http import HttpClient
from agent.providers.credentials import find_key
from agent.providers.settings import ProviderSettings
from agent.security.redact import Redactor
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock

if TYPE_CHECKING:
    from agent.embeddings.keys import Key


def embedder_of(
    settings: Settings, paths: Paths, environ: Mapping[str, str], http: HttpClient | None = None
) -> Embedder:
    """A missing model is the embedder's own to tell, at its first use.

    Raises:
        ConfigRefused: what should be the key of a service cannot be one.
    """
    wanted = settings.embeddings
    key = embedding_key(wanted, environ)
    return make_embedder(wanted, paths.model_dir, key, SystemClock(), http)


def embedding_key(settings: EmbeddingsSettings, environ: Mapping[str, str]) -> "Key | None":
    """The key for a service, found as a language model's is; None where none is needed or there.

    Raises:
        ConfigRefused: what is there cannot be a key.
    """
    if not settings.is_remote:
        return None
    found = find_key(ProviderSettings(api_key=settings.api_key), environ)
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
