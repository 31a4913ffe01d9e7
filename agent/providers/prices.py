"""Prices of models: the makers' list prices, in US dollars per million tokens.

A model that is not here has no price, never a guessed one; `[provider.prices]` goes before this.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from agent.providers.base import Usage
from agent.providers.section import Price

MILLION = 1_000_000
# What services add to a name for one edition of a model: -20260709, -2026-07-09, @20260709, -latest
_EDITION = re.compile(r"([-@]20\d\d-?[01]\d-?[0-3]\d|-latest)\Z")


def cost_usd(price: Price, usage: Usage) -> float:
    """Return the cost of a request."""
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    plain = max(0, usage.input_tokens - cached - written)
    parts = (
        plain * price.input,
        cached * (price.input if price.cached is None else price.cached),
        written * (price.input if price.cache_write is None else price.cache_write),
        usage.output_tokens * price.output,
    )
    return sum(parts) / MILLION


class _Listed(Struct, frozen=True):
    """Published price.

    Args:
        above_tokens: of input, beyond which it holds for the whole request.
        until: the last day, as YYYY-MM-DD; empty where none is known.
    """

    model: str
    price: Price
    above_tokens: int = 0
    until: str = ""


def _listed(
    model: str,
    usd: tuple[float, float | None, float | None, float],
    above_tokens: int = 0,
    until: str = "",
) -> _Listed:
    plain, cached, cache_write, output = usd
    price = Price(input=plain, cached=cached, cache_write=cache_write, output=output)
    return _Listed(model, price, above_tokens, until)


# Input, read from a cache, written to one (for five minutes), output
_LISTED = (
    # developers.openai.com, model pages: 5.6 as of August 2026, 6 as of 22 September 2026; a write
    # to the cache is 1.25 times the input, beyond 272,000 tokens all is 2 times, output 1.5 times
    _listed("gpt-5.6-luna", (0.20, 0.02, 0.25, 1.20)),
    _listed("gpt-5.6-luna", (0.40, 0.04, 0.50, 1.80), 272_000),
    _listed("gpt-5.6-terra", (2.00, 0.20, 2.50, 12.00)),
    _listed("gpt-5.6-terra", (4.00, 0.40, 5.00, 18.00), 272_000),
    _listed("gpt-5.6-sol", (4.00, 0.40, 5.00, 20.00)),
    _listed("gpt-5.6-sol", (8.00, 0.80, 10.00, 30.00), 272_000),
    _listed("gpt-6-luna", (0.10, 0.01, 0.125, 0.50)),
    _listed("gpt-6-luna", (0.20, 0.02, 0.25, 0.75), 272_000),
    _listed("gpt-6-sol", (2.00, 0.20, 2.50, 10.00)),
    _listed("gpt-6-sol", (4.00, 0.40, 5.00, 15.00), 272_000),
    # platform.claude.com, pricing, as of October 2026
    _listed("claude-fable-5-1", (10.00, 0.25, 12.50, 50.00)),
    _listed("claude-fable-5", (10.00, 1.00, 12.50, 50.00)),
    _listed("claude-opus-5-5", (4.00, 0.20, 5.00, 20.00)),
    _listed("claude-opus-5", (5.00, 0.50, 6.25, 25.00)),
    _listed("claude-opus-4-8", (5.00, 0.50, 6.25, 25.00)),
    _listed("claude-opus-4-7", (5.00, 0.50, 6.25, 25.00)),
    _listed("claude-opus-4-6", (5.00, 0.50, 6.25, 25.00)),
    _listed("claude-opus-4-5", (5.00, 0.50, 6.25, 25.00)),
    _listed("claude-sonnet-5-5", (2.00, 0.10, 2.50, 10.00)),
    _listed("claude-sonnet-5", (2.00, 0.20, 2.50, 10.00)),
    _listed("claude-haiku-5-5", (0.10, 0.01, 0.125, 0.50)),
    _listed("claude-haiku-5-5", (0.50, 0.05, 0.625, 2.50), 100_000),
    _listed("claude-haiku-4-5", (1.00, 0.10, 1.25, 5.00)),
    # ai.google.dev, pricing, as of October 2026; the price of the first months
    _listed("gemini-3.8-flash", (0.75, 0.075, None, 3.75), until="2026-12-31"),
    _listed("gemini-3.8-flash", (1.50, None, None, 7.50)),
)


class Prices:
    """Finds the price of a model.

    Args:
        own: of the configuration, by names in which `*` stands for anything.
    """

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._own = {name.lower(): price for name, price in (own or {}).items()}

    def price(self, model: str, input_tokens: int, day: str) -> Price | None:
        """Return a model's price; None if it is unknown.

        Args:
            input_tokens: of the request; long ones may cost more.
            day: as YYYY-MM-DD.
        """
        name = model.lower()
        for wanted in (name, _EDITION.sub("", name)):
            if wanted in self._own:
                return self._own[wanted]
        for pattern, price in self._own.items():
            if fnmatchcase(name, pattern):
                return price
        return _published(_EDITION.sub("", name), input_tokens, day)


def _published(model: str, input_tokens: int, day: str) -> Price | None:
    valid = [one for one in _LISTED if one.model == model and (not one.until or day <= one.until)]
    # Prices that end stand before those that follow them, and those of longer requests come last
    short = next((one.price for one in valid if not one.above_tokens), None)
    return next((one.price for one in valid if 0 < one.above_tokens < input_tokens), short)
