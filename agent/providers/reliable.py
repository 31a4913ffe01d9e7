"""An answer in spite of services that fail: other keys, waiting, other models, other services.

Only before the first piece of an answer: what has begun in one voice does not go on in another.
Decides by the type of an error, never by words in it.
"""

import logging
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from agent.clock import Clock
from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    SpendingLimit,
    TransientProviderError,
)
from agent.providers import backoff
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, Stop, TextDelta
from agent.providers.candidate import Candidate
from agent.providers.circuit import CircuitState
from agent.providers.shortening import shortened

_log = logging.getLogger(__name__)

# The first and two more, as the reference does
ATTEMPTS = 3
# As many reasons as a person reads
MAX_TOLD = 4
# Halved so often, a conversation of any length is down to its last turn
MOST_SHORTENINGS = 6
_NO_TURN = "every key of it was asked too often or refused"


@dataclass(slots=True)
class _Search:
    """The way to one answer."""

    request: ChatRequest
    has_begun: bool = False
    shortenings: int = 0
    # The newest error of each candidate, by its name
    errors: dict[str, ProviderError] = field(default_factory=dict)


class ReliableProvider(Provider):
    """Asks the candidates in their order.

    Args:
        chance: jitter; a test gives a seeded one.
    """

    def __init__(
        self, candidates: Sequence[Candidate], clock: Clock, chance: random.Random | None = None
    ) -> None:
        self._candidates = tuple(candidates)
        self._clock = clock
        self._chance = chance or random.Random()  # noqa: S311 - jitter is no secret
        self.name = self._candidates[0].name

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        search = _Search(request)
        for candidate in self._in_order():
            async with aclosing(self._ask(candidate, search)) as items:
                async for item in items:
                    search.has_begun = True
                    if isinstance(item, ChatResponse):
                        # Now: nobody asks for more after it
                        candidate.circuit.succeeded()
                        item = replace(item, was_shortened=search.shortenings > 0)  # noqa: PLW2901 - told once, at its end
                    yield item
            if search.has_begun:
                return
            _log.warning("%s did not answer: %s", candidate.name, search.errors[candidate.name])
        raise _summary(search.errors)

    def capabilities(self, model: str | None = None) -> Capabilities:
        first = self._candidates[0]
        return first.first.capabilities(model or first.model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._candidates[0].first.list_models()

    async def warm_up(self) -> None:
        await self._candidates[0].first.warm_up()

    async def aclose(self) -> None:
        for candidate in self._candidates:
            for provider in candidate.providers:
                await provider.aclose()

    def _in_order(self) -> list[Candidate]:
        """Those that rest come last: they are asked only when nobody else is left."""
        now_s = self._clock.monotonic_s()
        return sorted(
            self._candidates,
            key=lambda candidate: candidate.circuit.state(now_s) is CircuitState.OPEN,
        )

    async def _ask(
        self, candidate: Candidate, search: _Search
    ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """One candidate until it answers or is of no use; its error is then in `search`."""
        failures = 0
        while failures < ATTEMPTS:
            provider = candidate.way(self._clock.monotonic_s())
            if provider is None:
                search.errors.setdefault(candidate.name, RateLimited(_NO_TURN))
                if not await self._waited_for_key(candidate, search):
                    return
                continue
            try:
                async with aclosing(provider.stream(_for(candidate, search.request))) as items:
                    async for item in items:
                        if not search.has_begun and _is_empty(item):
                            raise TransientProviderError("the model gave an empty answer")
                        search.has_begun = True
                        yield item
            except ProviderError as err:
                if search.has_begun:
                    raise
                search.errors[candidate.name] = err
                failures += self._learn(candidate, provider, search, err)
                if failures >= ATTEMPTS:
                    return
                await self._pause(candidate, err)
            else:
                return

    def _learn(
        self, candidate: Candidate, provider: Provider, search: _Search, err: ProviderError
    ) -> int:
        """Apply an error to the next attempt; return how many attempts it costs."""
        now_s = self._clock.monotonic_s()
        if isinstance(err, RateLimited):
            candidate.slow_down(provider, err.retry_after_s, now_s)
            return 0 if candidate.way(now_s) is not None else 1
        if isinstance(err, KeyRefused | QuotaExhausted):
            candidate.refuse(provider, now_s)
            return 0 if candidate.way(now_s) is not None else ATTEMPTS
        if isinstance(err, ContextOverflow):
            return 0 if _shorten(search) else ATTEMPTS
        if isinstance(err, TransientProviderError):
            # After a rest one request finds out if the service is back
            is_probe = candidate.circuit.state(now_s) is CircuitState.TRYING
            candidate.circuit.failed(now_s)
            return ATTEMPTS if is_probe else 1
        return ATTEMPTS

    async def _pause(self, candidate: Candidate, err: ProviderError) -> None:
        # Another key, or a shorter conversation, need not wait
        if isinstance(err, TransientProviderError) and not isinstance(err, RateLimited):
            failures = max(candidate.circuit.failures, 1)
            await self._clock.sleep(backoff.wait_s(failures, err.retry_after_s, self._chance))

    async def _waited_for_key(self, candidate: Candidate, search: _Search) -> bool:
        """Wait for a key; return false if somebody else can be asked at once."""
        rest_s = candidate.rest_s(self._clock.monotonic_s())
        others = [other for other in self._candidates if other.name not in search.errors]
        if others or rest_s > backoff.MOST_ASKED_S:
            return False
        await self._clock.sleep(rest_s)
        return True


def _is_empty(item: TextDelta | ChatResponse) -> bool:
    """Services that are overloaded send such answers; one that was withheld says so."""
    if isinstance(item, TextDelta) or item.stop is not Stop.END:
        return False
    return not item.text and not item.tool_calls


def _for(candidate: Candidate, request: ChatRequest) -> ChatRequest:
    return request if candidate.model is None else replace(request, model=candidate.model)


def _shorten(search: _Search) -> bool:
    """By half; what is still too long when nothing is left is a person's to begin anew."""
    messages = shortened(search.request.messages)
    if messages is None or search.shortenings >= MOST_SHORTENINGS:
        return False
    _log.warning("the conversation is too long for the model: its older half is left out")
    search.request = replace(search.request, messages=messages)
    search.shortenings += 1
    return True


def _summary(errors: dict[str, ProviderError]) -> ProviderError:
    """One error for all: the only one as it is, several in one sentence."""
    if len(errors) == 1:
        return next(iter(errors.values()))
    # Whatever the others said: this is for a person to decide, in one sentence
    if limit := next((err for err in errors.values() if isinstance(err, SpendingLimit)), None):
        return limit
    told = "; ".join(f"{name}: {err}" for name, err in list(errors.items())[:MAX_TOLD])
    if any(isinstance(err, TransientProviderError) for err in errors.values()):
        return TransientProviderError(f"no model service answered ({told})")
    return ProviderRefused(f"every model service refused ({told})")
