"""Choice of the provider for a request: the usual one, or the one behind a hint.

A hint never reaches a service: an unknown one means the usual model. What a model can do is asked
of the provider that will answer.
"""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.messages import ChatMessage
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.classifier import Classifier
from agent.providers.settings import HINT

_log = logging.getLogger(__name__)


class RouterProvider(Provider):
    """Sends each request to its provider.

    Args:
        routes: by their hints.
        classifier: finds a hint for a request that names no model.
    """

    def __init__(
        self, usual: Provider, routes: Mapping[str, Provider], classifier: Classifier | None = None
    ) -> None:
        self.name = usual.name
        self._usual = usual
        self._routes = routes
        self._classifier = classifier

    async def chat(self, request: ChatRequest) -> ChatResponse:
        provider, model = self._way(request.model, request.messages)
        return await provider.chat(replace(request, model=model))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        provider, model = self._way(request.model, request.messages)
        async with aclosing(provider.stream(replace(request, model=model))) as items:
            async for item in items:
                yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        provider, model = self._way(model, ())
        return provider.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._usual.list_models()

    async def warm_up(self) -> None:
        await self._usual.warm_up()

    async def aclose(self) -> None:
        for provider in (self._usual, *self._routes.values()):
            await provider.aclose()

    def _way(
        self, model: str | None, messages: Sequence[ChatMessage]
    ) -> tuple[Provider, str | None]:
        """Return the provider and its model; None is its usual model."""
        if model is None:
            hint = self._classifier.hint(messages) if self._classifier else None
        elif not model.startswith(HINT):
            return self._usual, model
        else:
            hint = model.removeprefix(HINT)
            if hint not in self._routes:
                _log.warning("provider: unknown hint, default model used (hint=%r)", model)
        route = None if hint is None else self._routes.get(hint)
        return (self._usual if route is None else route), None
