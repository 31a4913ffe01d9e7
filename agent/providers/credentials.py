"""Which key is used, and therefore which kind of provider: what is configured goes first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.providers.settings import ProviderSettings

# In the order in which they are asked
KEY_VARIABLES = ("OPENAI_API_KEY", "BARNACLE_API_KEY", "API_KEY")


@dataclass(frozen=True, slots=True)
class Credential:
    """A key, and where a person finds it to change it."""

    key: Secret
    source: str


def find_key(settings: ProviderSettings, environ: Mapping[str, str]) -> Credential | None:
    """The key to use, if there is one.

    Raises:
        ConfigRefused: what is there cannot be a key.
    """
    if settings.api_key:
        return _checked(settings.api_key.reveal(), "provider.api_key")
    for name in KEY_VARIABLES:
        if value := environ.get(name, "").strip():
            return _checked(value, name)
    return None


def chosen_kind(
    settings: ProviderSettings, environ: Mapping[str, str]
) -> Literal["openai", "offline"]:
    """What `auto` stands for here.

    Raises:
        ConfigRefused: a kind that needs a key has none.
    """
    if settings.kind == "offline":
        return "offline"
    has_service = bool(settings.base_url) or find_key(settings, environ) is not None
    if settings.kind == "openai" and not has_service:
        raise ConfigRefused(
            'provider.kind is "openai", and there is no key: set provider.api_key or '
            f"{KEY_VARIABLES[0]}, or provider.base_url for a service that needs none"
        )
    return "openai" if has_service else "offline"


def _checked(text: str, source: str) -> Credential:
    # It travels in a header line: nothing else may be smuggled in with it
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigRefused(f"{source} is not a key: it must be one word of plain characters")
    return Credential(Secret(text), source)
