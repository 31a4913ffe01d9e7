"""Servers that start once, and a memory on a database of its own."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.memory.postgres.memory import PostgresMemory
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import DEBIAN, PGVECTOR, PostgresServer, unavailable_reason

# Opens a memory at an address
Open = Callable[[str, Embedder], PostgresMemory]


@pytest.fixture(scope="session")
def debian_server() -> Iterator[PostgresServer]:
    """Trigrams and no vectors."""
    yield from _running(DEBIAN)


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[PostgresServer]:
    """Vectors and no trigrams."""
    yield from _running(PGVECTOR)


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


def _running(kind: str) -> Iterator[PostgresServer]:
    if reason := unavailable_reason(kind):
        pytest.skip(reason)
    server = PostgresServer(kind)
    server.start()
    yield server
    server.remove()
