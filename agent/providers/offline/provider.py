"""Provider that needs no network and no model; its parts are loaded when first asked.

It never raises on any text, and never acts on what it only half understood.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.embeddings.base import Embedder
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.providers.offline.dialog import OfflineDialog
    from agent.storage.phrases import Phrases


class OfflineProvider(Provider):
    """Understands simple commands by words.

    Args:
        embedder: adds paraphrases where it can.
        open_phrases: sentences of people that a model did before, opened when they are needed.
        called: the name of the agent.
    """

    name = "offline"

    def __init__(
        self,
        embedder: Embedder | None = None,
        open_phrases: "Callable[[], Phrases] | None" = None,
        called: str = "Barnacle",
    ) -> None:
        self._embedder = embedder
        self._open_phrases = open_phrases
        self._called = called

    async def chat(self, request: ChatRequest) -> ChatResponse:
        # What is loaded for the first answer takes a Pi Zero seconds: never in the loop
        await asyncio.to_thread(self._prepare, request)
        return replace(await self._replies.to(request), is_by_rules=True)

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

    def _prepare(self, request: ChatRequest) -> None:
        self._replies.prepare(request)

    @cached_property
    def _replies(self) -> "OfflineDialog":
        from agent.providers.offline.dialog import OfflineDialog  # noqa: PLC0415 - no start needs it

        phrases = self._open_phrases() if self._open_phrases else None
        return OfflineDialog(self._embedder, phrases, self._called)
