"""A model service that needs its time."""

import asyncio

from agent.providers.base import ChatRequest, ChatResponse
from tests.fakes.provider import EchoProvider


class SlowProvider(EchoProvider):
    """Answers with the person's last message, after real time."""

    name = "slow"

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s

    async def chat(self, request: ChatRequest) -> ChatResponse:
        await asyncio.sleep(self._takes_s)
        return await super().chat(request)
