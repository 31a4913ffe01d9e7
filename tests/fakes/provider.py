"""Providers that do what a test tells them, each named after what it does."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from agent.errors import ProviderError, TransientProviderError
from agent.messages import ToolCall
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason, TextDelta


def calls(*pairs: tuple[str, str], text: str = "") -> ChatResponse:
    """A response that asks for tools: (name, arguments as JSON)."""
    wanted = tuple(ToolCall(f"call-{n}", name, args) for n, (name, args) in enumerate(pairs))
    return ChatResponse(text, wanted, StopReason.TOOLS)


class ScriptedProvider(Provider):
    """Gives its responses in order and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *responses: ChatResponse | str) -> None:
        self._responses = list(responses)
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        response = self._responses.pop(0)
        return ChatResponse(response) if isinstance(response, str) else response


class EchoProvider(Provider):
    """Answers with the person's last message."""

    name = "echo"

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(f"echo: {request.messages[-1].text}")


class LoopingProvider(Provider):
    """Always wants the same tool again."""

    name = "looping"

    def __init__(self, tool: str, arguments_json: str = "{}") -> None:
        self._response = calls((tool, arguments_json))
        self.count = 0

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.count += 1
        return self._response


class UnreachableProvider(Provider):
    """The network is gone."""

    name = "unreachable"

    async def chat(self, request: ChatRequest) -> ChatResponse:
        raise TransientProviderError("no route to the service")


class CutStreamProvider(Provider):
    """Says the beginning of an answer and then loses the connection."""

    name = "cut"

    def __init__(self, beginning: Sequence[str]) -> None:
        self._beginning = beginning

    async def chat(self, request: ChatRequest) -> ChatResponse:
        raise TransientProviderError("only streams")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        for piece in self._beginning:
            yield TextDelta(piece)
        raise ProviderError("the connection was cut")


class StalledProvider(Provider):
    """Never answers."""

    name = "stalled"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class HeldProvider(EchoProvider):
    """Answers only when it is told to."""

    name = "held"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.asked.set()
        await self.go_on.wait()
        return await super().chat(request)


class BrokenProvider(Provider):
    """Has a bug."""

    name = "broken"

    def __init__(self) -> None:
        self.count = 0

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.count += 1
        raise ZeroDivisionError("a bug")
