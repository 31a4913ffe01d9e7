"""The provider that needs no network and no model; what it answers with is loaded when it is asked.

It never raises on any text, and never acts on what it only half understood.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider

if TYPE_CHECKING:
    from agent.providers.offline.replying import Replies


class OfflineProvider(Provider):
    """Understands simple commands in six languages; `embedder` adds paraphrases where it can."""

    name = "offline"

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return await self._replies.to(request)

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities(native_tools=True)

    async def list_models(self) -> tuple[str, ...]:
        return (self.name,)

    async def warm_up(self) -> None:
        await asyncio.to_thread(self._load)

    def _load(self) -> None:
        from agent.providers.offline.language import detect  # noqa: PLC0415 - no start needs it

        self._replies  # noqa: B018 - made here, in a thread
        detect(self.name)

    @cached_property
    def _replies(self) -> "Replies":
        from agent.providers.offline.replying import Replies  # noqa: PLC0415 - no start needs it

        return Replies(self._embedder)
