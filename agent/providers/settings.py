"""The `[provider]` section: which language model answers, where it is, and its limits."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from agent.config import Secret, Section
from agent.providers.base import DEFAULT_MAX_TOKENS, DEFAULT_TEMPERATURE

OFFICIAL_URL = "https://api.openai.com/v1"
# OpenAI's cheapest current model that has tools in chat completions (November 2026)
DEFAULT_MODEL = "gpt-5.6-luna"

Kind = Literal["auto", "openai", "offline"]


class ProviderSettings(Section, frozen=True, kw_only=True):
    """Which model, and how it is asked."""

    # auto: openai when there is a key or a base_url, else offline
    kind: Kind = "auto"
    model: Annotated[str, Meta(min_length=1, max_length=200)] = DEFAULT_MODEL
    # Empty: OpenAI's own service; else any service that speaks chat completions
    base_url: Annotated[str, Meta(max_length=2000)] = ""
    # Empty: the first of OPENAI_API_KEY, BARNACLE_API_KEY, API_KEY in the environment
    api_key: Secret = Secret()
    temperature: Annotated[float, Meta(ge=0, le=2)] = DEFAULT_TEMPERATURE
    # Longest answer to one request
    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = DEFAULT_MAX_TOKENS
    # Longest wait for a whole answer
    timeout_s: Annotated[float, Meta(ge=1, le=3600)] = 120.0
    # Longest wait for its beginning: a local model may have to be loaded first
    first_byte_timeout_s: Annotated[float, Meta(ge=1, le=600)] = 30.0

    def __post_init__(self) -> None:
        endpoint(self.base_url)


def endpoint(base_url: str) -> str:
    """The address that `/chat/completions` is added to.

    Raises:
        ValueError: not an address of a service.
    """
    if not base_url:
        return OFFICIAL_URL
    refusal = "base_url must look like https://api.example.org/v1"
    try:
        parts = urlsplit(base_url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as err:
        raise ValueError(refusal) from err
    is_plain = base_url.isascii() and base_url.isprintable() and " " not in base_url
    if parts.scheme not in {"http", "https"} or not has_host or not is_plain:
        raise ValueError(refusal)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url takes no password, query or fragment; the key is api_key")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    # Every service has a path; who gives only a host means the usual one
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
