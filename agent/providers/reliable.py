"""Answer despite failing services: other keys, waits, other models, other services.

Only before the first piece of an answer: what has begun in one voice does not go on in another.
Decides by the type of an error, never by words in it.
"""

import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    PicturesRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    SpendingLimit,
    TransientProviderError,
)
from agent.messages import ChatMessage, Role
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Provider,
    StopReason,
    TextDelta,
)
from agent.providers.candidate import ModelCandidate
from agent.providers.circuit_breaker import CircuitState
from agent.providers.race import Items, Race
from agent.system.clock import Clock

# Of a long tool result, so much still tells what it was
KEPT_RESULT_CHARS = 2000
_CUT = "\n[... the rest was cut: the conversation is too long for the model]"


def shortened(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...] | None:
    """Leave out the older half of the turns, or cut long results of a single turn.

    None where nothing can be made shorter.
    """
    first = next((i for i, message in enumerate(messages) if message.begins_turn), None)
    if first is None:
        return None
    head, said = tuple(messages[:first]), messages[first:]
    turns = [i for i, message in enumerate(said) if message.begins_turn]
    if len(turns) > 1:
        return (*head, *said[turns[(len(turns) + 1) // 2] :])
    cut = tuple(_with_short_result(message) for message in said)
    return None if cut == tuple(said) else (*head, *cut)


def _with_short_result(message: ChatMessage) -> ChatMessage:
    if message.role is not Role.TOOL or len(message.text) <= KEPT_RESULT_CHARS + len(_CUT):
        return message
    return message.saying(message.text[:KEPT_RESULT_CHARS] + _CUT)


# The reference's figures: a phone network comes back within a few of these
BASE_S = 0.5
MOST_S = 10.0
# Somebody waits for the answer: a service that wants more is passed over instead
MOST_ASKED_S = 30.0


def wait_s(failures: int, asked_s: float | None, chance: random.Random) -> float:
    """Return a doubling wait with jitter, at least what the service asked for.

    Args:
        failures: how often it has failed in a row, from 1.
        asked_s: its own Retry-After.
    """
    span_s = min(MOST_S, BASE_S * 2.0 ** min(failures - 1, 10))
    # Half of it by chance: devices that lost the service together do not come back together
    waited_s = span_s / 2 + chance.random() * span_s / 2
    return max(waited_s, min(asked_s or 0.0, MOST_ASKED_S))


_log = logging.getLogger(__name__)

# The first and two more, as the reference does
ATTEMPTS = 3
# As many reasons as a person reads
MAX_TOLD = 4
# Halved so often, a conversation of any length is down to its last turn
MOST_SHORTENINGS = 6
# An attempt of this length is not repeated: somebody waits
LONG_ATTEMPT_S = 10.0
_NO_TURN = "all of its keys are rate-limited or refused"


class _Search(Struct):
    """Search for one answer."""

    request: ChatRequest
    # The newest error of each candidate, by its name
    errors: dict[str, ProviderError]
    has_begun: bool = False
    shortenings: int = 0
    # When the newest attempt began
    asked_s: float = 0.0
    # Ways that have failed
    failed: list[Provider] = field(default_factory=list)


class ReliableProvider(Provider):
    """Asks the candidates in their order.

    Args:
        chance: jitter; a test gives a seeded one.
        beside_after_s: silence after which the next candidate is asked too; 0 is never.
    """

    def __init__(
        self,
        candidates: Sequence[ModelCandidate],
        clock: Clock,
        chance: random.Random | None = None,
        beside_after_s: float = 0.0,
    ) -> None:
        self._candidates = tuple(candidates)
        self._clock = clock
        self._chance = chance or random.Random()  # noqa: S311 - jitter is no secret
        self._beside_after_s = beside_after_s
        self.name = self._candidates[0].name

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        errors: dict[str, ProviderError] = {}

        def ask(candidate: ModelCandidate, heard: Callable[[], None]) -> Items:
            return self._ask(candidate, _Search(replace(request, heard=heard), errors))

        race = Race(self._in_order(), ask, self._clock, self._beside_after_s)
        try:
            while (runner := await race.next()) is not None:
                has_begun = False
                async with aclosing(runner.items()) as items:
                    async for item in items:
                        has_begun = True
                        yield item
                if has_begun:
                    return
                name = runner.candidate.name
                _log.warning("provider: no answer (service=%s, error=%s)", name, errors[name])
        finally:
            await race.aclose()
        raise _summary(errors)

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

    def _in_order(self) -> list[ModelCandidate]:
        """Return the candidates, resting ones last: they are asked only if nobody else is left."""
        now_s = self._clock.monotonic_s()
        return sorted(
            self._candidates,
            key=lambda candidate: candidate.circuit.state(now_s) is CircuitState.OPEN,
        )

    async def _ask(
        self, candidate: ModelCandidate, search: _Search
    ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Ask one candidate until it answers or is of no use; its error is then in `search`."""
        failures = 0
        while failures < ATTEMPTS:
            provider = candidate.way(self._clock.monotonic_s())
            if provider is None:
                search.errors.setdefault(candidate.name, RateLimited(_NO_TURN))
                if not await self._waited_for_key(candidate, search):
                    return
                continue
            search.asked_s = self._clock.monotonic_s()
            try:
                async with aclosing(_items(candidate, provider, search)) as items:
                    async for item in items:
                        yield item
            except ProviderError as err:
                if search.has_begun:
                    raise
                search.errors[candidate.name] = err
                failures += self._learn(candidate, provider, search, err)
                if failures >= ATTEMPTS:
                    return
                await self._pause(candidate, search, err)
            else:
                return

    def _learn(
        self, candidate: ModelCandidate, provider: Provider, search: _Search, err: ProviderError
    ) -> int:
        """Apply an error to the next attempt; return how many attempts it costs."""
        now_s = self._clock.monotonic_s()
        if isinstance(err, RateLimited):
            candidate.slow_down(provider, err.retry_after_s, now_s)
            search.failed.append(provider)
            # A key that has had its turn costs an attempt, however short its rest was
            return 0 if _untried(candidate.way(now_s), search) else 1
        if isinstance(err, KeyRefused | QuotaExhausted):
            candidate.refuse(provider, now_s)
            return 0 if candidate.way(now_s) is not None else ATTEMPTS
        if isinstance(err, ContextOverflow):
            return 0 if _shorten(search) else ATTEMPTS
        if isinstance(err, TransientProviderError):
            # After a rest one request finds out if the service is back
            is_probe = candidate.circuit.state(now_s) is CircuitState.TRYING
            candidate.circuit.failed(now_s)
            # A service may fail for one account alone
            candidate.pass_on(provider, now_s)
            search.failed.append(provider)
            is_long = now_s - search.asked_s >= LONG_ATTEMPT_S
            return ATTEMPTS if is_probe or is_long else 1
        return ATTEMPTS

    async def _pause(self, candidate: ModelCandidate, search: _Search, err: ProviderError) -> None:
        following = candidate.way(self._clock.monotonic_s())
        # Another key, or a shorter conversation, need not wait
        if search.failed and _untried(following, search):
            return
        if isinstance(err, TransientProviderError) and not isinstance(err, RateLimited):
            failures = max(candidate.circuit.failures, 1)
            await self._clock.sleep(wait_s(failures, err.retry_after_s, self._chance))

    async def _waited_for_key(self, candidate: ModelCandidate, search: _Search) -> bool:
        """Wait for a key; return false if somebody else can be asked at once."""
        rest_s = candidate.rest_s(self._clock.monotonic_s())
        others = [other for other in self._candidates if other.name not in search.errors]
        if others or rest_s > MOST_ASKED_S:
            return False
        await self._clock.sleep(rest_s)
        return True


async def _items(candidate: ModelCandidate, provider: Provider, search: _Search) -> Items:
    async with aclosing(provider.stream(_for(candidate, search.request))) as items:
        async for item in items:
            if not search.has_begun and _is_empty(item):
                raise TransientProviderError("the model gave an empty answer")
            search.has_begun = True
            if isinstance(item, ChatResponse):
                # Now: nobody asks for more after it
                candidate.circuit.succeeded()
                if search.shortenings:
                    item = replace(item, was_shortened=True)  # noqa: PLW2901 - told once, at its end
            yield item


def _is_empty(item: TextDelta | ChatResponse) -> bool:
    """Return true for an empty answer of an overloaded service; a withheld one says so."""
    if isinstance(item, TextDelta) or item.stop is not StopReason.END:
        return False
    return not item.text and not item.tool_calls


def _untried(way: Provider | None, search: _Search) -> bool:
    return way is not None and all(way is not failed for failed in search.failed)


def _for(candidate: ModelCandidate, request: ChatRequest) -> ChatRequest:
    return request if candidate.model is None else replace(request, model=candidate.model)


def _shorten(search: _Search) -> bool:
    """Shorten by half; what is too long at the end needs a new conversation."""
    messages = shortened(search.request.messages)
    if messages is None or search.shortenings >= MOST_SHORTENINGS:
        return False
    _log.warning("provider: conversation too long, older half left out")
    search.request = replace(search.request, messages=messages)
    search.shortenings += 1
    return True


def _summary(errors: dict[str, ProviderError]) -> ProviderError:
    """Return one error for all: the only one as it is, several in one sentence."""
    if len(errors) == 1:
        return next(iter(errors.values()))
    # Whatever the others said: this is for a person to decide, in one sentence
    if limit := next((err for err in errors.values() if isinstance(err, SpendingLimit)), None):
        return limit
    told = "; ".join(f"{name}: {err}" for name, err in list(errors.items())[:MAX_TOLD])
    if any(isinstance(err, PicturesRefused) for err in errors.values()):
        # Without them one of these may answer
        return PicturesRefused(f"every model service refused ({told})")
    if any(isinstance(err, TransientProviderError) for err in errors.values()):
        return TransientProviderError(f"no model service answered ({told})")
    return ProviderRefused(f"every model service refused ({told})")
