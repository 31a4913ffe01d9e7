"""Each kind of server in turn, and memories on it."""

from collections.abc import AsyncIterator, Callable

import pytest

from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.memory.postgres.memory import PostgresMemory
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import PostgresServer

# Opens a memory at an address
Open = Callable[[str, Embedder], PostgresMemory]


@pytest.fixture(params=["debian_server", "pgvector_server"])
def server(request: pytest.FixtureRequest) -> PostgresServer:
    """Each kind in turn."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, PostgresServer)
    return found


@pytest.fixture
async def open_memory() -> AsyncIterator[Open]:
    """Opens memories, which are closed when the test is over."""
    opened: list[PostgresMemory] = []

    def make(url: str, embedder: Embedder) -> PostgresMemory:
        opened.append(PostgresMemory(Secret(url), embedder, SteppedClock()))
        return opened[-1]

    yield make
    for memory in opened:
        await memory.aclose()
