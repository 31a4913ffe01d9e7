"""Provider that times what a model does: to its first token, and between tokens."""

import statistics
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct, field

from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from agent.system.clock import Clock


class ProbeTimes(Struct):
    """Measurements of all requests.

    Args:
        first_s: seconds from a request to the first event of its answer, each.
        rest_s: seconds from there to the ends, together.
        input_tokens: the largest request, as the service counted it.
    """

    requests: int = 0
    first_s: list[float] = field(default_factory=list)
    rest_s: float = 0.0
    output_tokens: int = 0
    input_tokens: int = 0

    @property
    def usual_first_s(self) -> float:
        return statistics.median(self.first_s) if self.first_s else 0.0

    @property
    def tokens_per_s(self) -> float:
        return self.output_tokens / self.rest_s if self.rest_s else 0.0


class TimedProvider(Provider):
    """Asks `inner`, and notes how long it takes."""

    def __init__(self, inner: Provider, times: ProbeTimes, clock: Clock) -> None:
        self.name = inner.name
        self._inner = inner
        self._times = times
        self._clock = clock

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return await self._inner.chat(request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        times, began_s = self._times, self._clock.monotonic_s()
        times.requests += 1
        first_s: float | None = None
        async with aclosing(self._inner.stream(request)) as items:
            async for item in items:
                if first_s is None:
                    first_s = self._clock.monotonic_s() - began_s
                    times.first_s.append(first_s)
                if isinstance(item, ChatResponse):
                    times.rest_s += self._clock.monotonic_s() - began_s - first_s
                    times.output_tokens += item.usage.output_tokens
                    times.input_tokens = max(times.input_tokens, item.usage.input_tokens)
                yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        return self._inner.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._inner.list_models()

    async def aclose(self) -> None:
        await self._inner.aclose()
