"""Section `[provider]`: the service that is asked first, and values for all services.

Routes and what leads to them, prices and limits. Light to import: values alone.
"""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.config import ConfigSection
from agent.providers.settings import HINT, ProviderSettings

_ROUTE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# A message that is longer is refused before anything looks at it
_MOST_CHARS = 65_536
_Usd = Annotated[float, Meta(ge=0, le=100_000)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """US dollars per million tokens; cached tokens without a price cost what input does."""

    input: _Usd
    output: _Usd
    cached: _Usd | None = None
    cache_write: _Usd | None = None


class ClassifySettings(ConfigSection, frozen=True, kw_only=True):
    """Conditions of a route, for conversations that have chosen no model."""

    # One of them is in the message; none: every message of the length
    keywords: tuple[Annotated[str, Meta(min_length=1, max_length=100)], ...] = ()
    min_chars: Annotated[int, Meta(ge=0, le=_MOST_CHARS)] = 0
    max_chars: Annotated[int, Meta(ge=1, le=_MOST_CHARS)] = _MOST_CHARS

    def __post_init__(self) -> None:
        if self.min_chars > self.max_chars:
            raise ValueError("min_chars must not be above max_chars")
        if not self.keywords and not self.min_chars and self.max_chars == _MOST_CHARS:
            raise ValueError("set keywords, min_chars or max_chars to select messages")


class MainProviderSettings(ProviderSettings, frozen=True, kw_only=True):
    """Service that is asked first, and values for every service."""

    # Hints, and the service with ":" and a model that each stands for
    routes: dict[str, Annotated[str, Meta(min_length=1, max_length=400)]] = msgspec.field(
        default_factory=dict
    )
    # Hints that messages are sorted to by themselves, in this order
    classify: dict[str, ClassifySettings] = msgspec.field(default_factory=dict)
    # Pictures in one request: each is sent again in every round of a turn
    max_images: Annotated[int, Meta(ge=1, le=16)] = 4
    max_image_mb: Annotated[int, Meta(ge=1, le=20)] = 5
    # Whether pictures that a person names by an address are fetched from there
    fetch_images: bool = False
    # Of models that have no known price, or another one here
    prices: dict[str, Price] = msgspec.field(default_factory=dict)
    # 0 is no limit
    daily_limit_usd: Annotated[float, Meta(ge=0, le=100_000)] = 0.0
    daily_limit_tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0
    conversation_limit_usd: Annotated[float, Meta(ge=0, le=100_000)] = 0.0
    conversation_limit_tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for hint in self.routes:
            if not _ROUTE.fullmatch(hint):
                raise ValueError(f"route names must be lower-case letters and digits, not {hint!r}")
        for hint in self.classify:
            if hint not in self.routes:
                raise ValueError(f"classify names {hint!r}, but provider.routes has no such route")
        if self.model.startswith(HINT):
            raise ValueError("model must be a model name; put hints in provider.routes")
        if any(name.startswith(HINT) for name in self.fallbacks):
            raise ValueError("fallbacks must be services, not hints")
        if any(target.startswith(HINT) for target in self.routes.values()):
            raise ValueError("routes must lead to services, not to other hints")
