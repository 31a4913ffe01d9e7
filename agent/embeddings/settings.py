"""The `[embeddings]` section."""

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from agent.config import ConfigSection, Secret

OFFICIAL_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
_CUSTOM = "custom:"
_LOCAL = ("onnx", "none")


class EmbeddingsSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the embedding model."""

    # "onnx" runs a model on this machine; "openai" and "custom:URL" ask a service that speaks
    # /embeddings, to which memories and questions are sent; "none" leaves recall to words alone
    provider: Annotated[str, Meta(max_length=2000)] = "onnx"
    # For onnx. Empty: BARNACLE_MODEL_DIR, else the one that was built
    model_dir: str = ""
    # The rest is for a service. Its model, as it calls it
    model: Annotated[str, Meta(min_length=1, max_length=200)] = DEFAULT_MODEL
    # Length of its vectors; 0 takes what it gives by itself
    dimensions: Annotated[int, Meta(ge=0, le=8192)] = 0
    # Empty: OPENAI_API_KEY for openai, else BARNACLE_API_KEY or API_KEY in the environment
    api_key: Secret = Secret()
    # Vectors that are kept so that the same text is not embedded twice; 0 keeps none
    cache_entries: Annotated[int, Meta(ge=0, le=1_000_000)] = 10_000

    def __post_init__(self) -> None:
        if self.provider not in _LOCAL:
            service_url(self.provider)

    @property
    def is_remote(self) -> bool:
        return self.provider not in _LOCAL


def service_url(provider: str) -> str:
    """Return the service's address, without `/embeddings`.

    Raises:
        ValueError: it names no provider that there is.
    """
    if provider == "openai":
        return OFFICIAL_URL
    if not provider.startswith(_CUSTOM):
        raise ValueError(
            'provider must be "onnx", "none", "openai" or "custom:" with the address of a service'
        )
    base = provider.removeprefix(_CUSTOM)
    refusal = "provider must look like custom:https://api.example.org/v1"
    try:
        parts = urlsplit(base)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as err:
        raise ValueError(refusal) from err
    is_plain = base.isascii() and base.isprintable() and " " not in base
    if parts.scheme not in {"http", "https"} or not has_host or not is_plain:
        raise ValueError(refusal)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("provider takes no password, query or fragment; the key is api_key")
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    # Every service has a path; who gives only a host means the usual one
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
