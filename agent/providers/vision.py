"""Picture support of models, and the conversation without pictures for those without it."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from agent.messages import ChatMessage
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta

# In the names of models that are known to see; of others a person says it
_SEEING = re.compile(
    r"gpt-(4o|4\.1|5)|(^|/)o[134](-(?!mini)|\Z)|claude|gemini|gemma-?[34]|llava|pixtral|vision"
    r"|[-_.]vl\b|llama-?4|grok-4|mistral-(small|medium|large)|minicpm-v|moondream|internvl"
    r"|glm-[0-9.]+v\b|qwen-?3\.5|omni",
    re.IGNORECASE,
)
_UNSEEN = "(This model cannot see pictures: {count} left out.)"


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
