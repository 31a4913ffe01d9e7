"""A model that can be shown little, and what it was shown."""

from collections.abc import Sequence

from agent.errors import ContextOverflow
from agent.messages import ChatMessage, Role
from agent.providers.base import ChatRequest, ChatResponse, Provider


class NarrowProvider(Provider):
    """Refuses a conversation of more than `most` messages, as services do."""

    name = "narrow"

    def __init__(self, most: int) -> None:
        self.most = most
        self.refused = 0
        self.seen: list[Sequence[ChatMessage]] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        said = [message for message in request.messages if message.role is not Role.SYSTEM]
        if len(said) > self.most:
            self.refused += 1
            raise ContextOverflow("prompt is too long")
        self.seen.append(request.messages)
        return ChatResponse(f"answer {len(self.seen)}")
