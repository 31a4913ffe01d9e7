"""Choice of the provider for a request: the usual one, or the one behind a hint.

A hint never reaches a service: an unknown one means the usual model. What a model can do is asked
of the provider that will answer; one that sees no pictures gets the conversation without them.
"""

import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from agent.messages import ChatMessage
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.classifier import Classifier
from agent.providers.settings import HINT

_log = logging.getLogger(__name__)
# In the names of models that are known to see; of others a person says it
_SEEING = re.compile(
    # Where a family has learnt to see, so has what came after it
    r"gpt-(4o|4\.1|[5-9]|[1-9][0-9])|(^|/)o[134](-(?!mini)|\Z)|claude|gemini|gemma-?[3-9]"
    r"|grok-[4-9]|kimi-(k2\.[5-9]|k[3-9])|minimax-m[3-9]|qwen-?3\.[5-9]|llama-?[4-9]"
    r"|llava|pixtral|vision|[-_.]vl\b|mistral-(small|medium|large)|minicpm-v|moondream|internvl"
    r"|glm-[0-9.]+v\b|omni",
    re.IGNORECASE,
)
_UNSEEN = "(This model cannot see pictures: {count} left out.)"


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


def is_seeing(model: str) -> bool:
    """Return true if a model's name says that it sees pictures."""
    return _SEEING.search(model) is not None


class VisionProvider(Provider):
    """Provider of one model.

    Args:
        model: asked where a request names none.
        sees: whether its models see pictures; None leaves it to what is known of each.
    """

    def __init__(self, inner: Provider, model: str, *, sees: bool | None = None) -> None:
        self.name = inner.name
        self._inner = inner
        self._model = model
        self._sees = sees

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return await self._inner.chat(self._visible(request))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        async with aclosing(self._inner.stream(self._visible(request))) as items:
            async for item in items:
                yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        able = self._inner.capabilities(model)
        known = able.vision or is_seeing(model or self._model)
        return replace(able, vision=known if self._sees is None else self._sees)

    async def list_models(self) -> tuple[str, ...]:
        return await self._inner.list_models()

    async def warm_up(self) -> None:
        await self._inner.warm_up()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _visible(self, request: ChatRequest) -> ChatRequest:
        if self.capabilities(request.model).vision:
            return request
        if not any(message.images for message in request.messages):
            return request
        return replace(request, messages=tuple(map(_without_images, request.messages)))


def _without_images(message: ChatMessage) -> ChatMessage:
    if not message.images:
        return message
    unseen = _UNSEEN.format(count=len(message.images))
    seen = message.saying(f"{message.text}\n{unseen}".lstrip())
    return replace(seen, images=())
