"""Provider that can be replaced while it runs, such as by one with another key.

A request that is under way ends with the one that it began with; each later one goes to the new.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator

from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta


class ReplaceableProvider(Provider):
    """Answers by the provider that is set now."""

    def __init__(self, first: Provider) -> None:
        self.name = first.name
        self._now = first
        self._at_work: Counter[Provider] = Counter()
        self._idle = asyncio.Event()

    async def exchange(self, new: Provider) -> None:
        """Answer by `new` from now on; return when the one before has ended its work."""
        old, self._now = self._now, new
        self.name, self.trouble = new.name, ""
        while self._at_work[old]:
            self._idle.clear()
            await self._idle.wait()
        await old.aclose()

    async def chat(self, request: ChatRequest) -> ChatResponse:
        with self._working() as now:
            return await now.chat(request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        with self._working() as now:
            async with contextlib.aclosing(now.stream(request)) as items:
                async for item in items:
                    yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        return self._now.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        with self._working() as now:
            return await now.list_models()

    async def warm_up(self) -> None:
        with self._working() as now:
            await now.warm_up()

    async def aclose(self) -> None:
        await self._now.aclose()

    @contextlib.contextmanager
    def _working(self) -> Iterator[Provider]:
        now = self._now
        self._at_work[now] += 1
        try:
            yield now
        finally:
            self._at_work[now] -= 1
            self._idle.set()
            if now is self._now:
                self.trouble = now.trouble
