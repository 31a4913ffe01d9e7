"""Settings of one language model: its service, its address, its limits."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from agent.config import ConfigSection, Secret
from agent.providers import catalog
from agent.providers.base import DEFAULT_MAX_TOKENS, DEFAULT_TEMPERATURE
from agent.providers.template_names import TEMPLATE_NAMES

# Not the names of services
AUTO = "auto"
OFFLINE = "offline"
# The prompt and one tool take half of it
LEAST_CONTEXT_TOKENS = 1024
# Asked of Ollama: most models on a machine of one's own can have it
OLLAMA_CONTEXT_TOKENS = 16_384
# What a model's name begins with where it is the name of a route
HINT = "hint:"


class ProviderSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of one model service."""

    # auto: the service that there is a key or a base_url for, else offline
    kind: Annotated[str, Meta(min_length=1, max_length=2000)] = AUTO
    # Empty: the service's usual one
    model: Annotated[str, Meta(max_length=200)] = ""
    # Empty: where the service is known to be
    base_url: Annotated[str, Meta(max_length=2000)] = ""
    # Empty: the service's own variable, BARNACLE_API_KEY, API_KEY in the environment
    api_key: Secret = Secret()
    # Further keys of the same service, used in turn when one is asked too often
    more_keys: tuple[Secret, ...] = ()
    # Who answers when this service does not: names, each with ":" and a model or without
    fallbacks: tuple[Annotated[str, Meta(min_length=1, max_length=400)], ...] = ()
    # Silence after which the next fallback is asked too; the first that speaks answers. 0: never
    fallback_after_s: Annotated[float, Meta(ge=0, le=600)] = 6.0
    # Whether the board, files and memory are worked in words when no model answers
    offline_last: bool = True
    temperature: Annotated[float, Meta(ge=0, le=2)] = DEFAULT_TEMPERATURE
    # Longest answer to one request
    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = DEFAULT_MAX_TOKENS
    # Window of the model. Ollama is asked for it, and it takes memory where the model runs; 0:
    # 16,384 there, elsewhere what the service says
    context_tokens: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    # auto: the service's own way, in words where it refuses that; words also help where a local
    # server takes tools and loses them; grammar holds the model to valid calls where a server can
    tool_calls: Literal["auto", "native", "words", "grammar"] = "auto"
    # Template in which the model writes calls as text; empty: it is learnt from its answers
    template: Annotated[str, Meta(max_length=40)] = ""
    # auto: what is known of the model by its service and name
    vision: Literal["auto", "yes", "no"] = "auto"
    # Longest wait for a whole answer
    timeout_s: Annotated[float, Meta(ge=1, le=3600)] = 120.0
    # Longest wait for its beginning: a local model may have to be loaded first
    first_byte_timeout_s: Annotated[float, Meta(ge=1, le=600)] = 30.0

    def __post_init__(self) -> None:
        if 0 < self.context_tokens < LEAST_CONTEXT_TOKENS:
            raise ValueError(f"context_tokens must be 0 or at least {LEAST_CONTEXT_TOKENS}")
        if self.template and self.template not in TEMPLATE_NAMES:
            names = ", ".join(TEMPLATE_NAMES)
            raise ValueError(f"template must be empty or one of {names}, not {self.template!r}")
        known = catalog.OPENAI if self.kind in {AUTO, OFFLINE} else catalog.find(self.kind)
        if self.base_url or known.url:
            endpoint(self.base_url or known.url, known.usual_path)
        elif self.kind not in {AUTO, OFFLINE}:
            raise ValueError(f"{known.name} needs base_url, such as {known.own_url}")


def endpoint(base_url: str, usual_path: str = "/v1") -> str:
    """Return the address that a wire format's paths are added to.

    Raises:
        ValueError: not an address of a service.
    """
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
        raise ValueError("base_url must have no password, query or fragment; use api_key")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    # Who gives only a host means the service's usual path
    return f"{parts.scheme}://{parts.netloc}{path or usual_path}"
