"""Model service first, and the offline provider while it cannot be reached.

Only before the first piece of an answer: what has begun in one voice does not go on in another.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from agent.errors import (
    KeyRefused,
    ProviderError,
    QuotaExhausted,
    SpendingLimit,
    TransientProviderError,
)
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta

_log = logging.getLogger(__name__)

# A request that is wrong is a person's to see; without a key or money the board still works
_UNREACHABLE = (TransientProviderError, KeyRefused, QuotaExhausted, SpendingLimit)


class FallbackProvider(Provider):
    """Answers by `first`, or by `last_resort` with the reason."""

    def __init__(self, first: Provider, last_resort: Provider) -> None:
        self.name = first.name
        self._first = first
        self._last_resort = last_resort

    async def chat(self, request: ChatRequest) -> ChatResponse:
        try:
            response = await self._first.chat(request)
        except _UNREACHABLE as err:
            return await self._without_first(request, err)
        self.trouble = ""
        return response

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        begun = False
        try:
            async with contextlib.aclosing(self._first.stream(request)) as items:
                async for item in items:
                    begun = True
                    self.trouble = ""
                    yield item
        except _UNREACHABLE as err:
            if begun:
                raise
            response = await self._without_first(request, err)
        else:
            return
        if response.text:
            yield TextDelta(response.text)
        yield response

    def capabilities(self, model: str | None = None) -> Capabilities:
        return self._first.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._first.list_models()

    async def warm_up(self) -> None:
        await self._first.warm_up()

    async def aclose(self) -> None:
        await self._first.aclose()
        await self._last_resort.aclose()

    async def _without_first(self, request: ChatRequest, err: ProviderError) -> ChatResponse:
        self.trouble = str(err)
        _log.warning("provider: unreachable (service=%s, error=%s)", self._first.name, err)
        response = await self._last_resort.chat(request)
        if response.tool_calls or not response.text:
            return response
        # Only when it is needed: it reads the vocabularies
        from agent.providers.offline.answer_language import with_notice  # noqa: PLC0415 - see above

        return replace(response, text=with_notice(request.messages, str(err), response.text))
