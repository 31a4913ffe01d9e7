"""A model service that knows which keys are good, as of now."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fakes.llm_server import Json, LlmServer, Reply, failed, running, streamed


@dataclass
class KeyedService:
    """Answers "fine" to good keys and 401 to all others; `seen` is what it was asked with."""

    good: set[str]
    server: LlmServer | None = None
    refused: int = 0
    seen: list[str] = field(default_factory=list)

    def reply(self, _request: Json) -> Reply:
        assert self.server is not None
        key = self.server.requests[-1].headers["authorization"].removeprefix("bearer ")
        self.seen.append(key)
        if key in self.good:
            return streamed("fine")
        self.refused += 1
        return failed(401, "this key is no good")


@asynccontextmanager
async def keyed_service(*good: str) -> AsyncIterator[KeyedService]:
    service = KeyedService(set(good))
    async with running(service.reply) as service.server:
        yield service
