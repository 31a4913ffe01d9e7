"""A memory of each kind, closed when its test is over."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agent.embeddings.base import Embedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.sqlite import SqliteMemory
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import DEBIAN, PGVECTOR, PostgresServer, unavailable_reason

MakeMemory = Callable[[Embedder], SqliteMemory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "brain.db"


@pytest.fixture
async def real_model(model_dir: Path) -> AsyncIterator[Embedder]:
    """The model, loaded: on a busy machine that takes longer than a store waits."""
    embedder = OnnxEmbedder(model_dir)
    await embedder.embed(["loaded"])
    yield embedder
    await embedder.aclose()


@pytest.fixture
async def make_memory(path: Path) -> AsyncIterator[MakeMemory]:
    """Opens memories on one file, each with its own embedder."""
    made: list[SqliteMemory] = []

    def make(embedder: Embedder) -> SqliteMemory:
        made.append(SqliteMemory(path, embedder, SteppedClock()))
        return made[-1]

    yield make
    for memory in made:
        await memory.aclose()


@pytest.fixture(scope="session")
def debian_server() -> Iterator[PostgresServer]:
    """Trigrams and no vectors."""
    yield from _running(DEBIAN)


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[PostgresServer]:
    """Vectors and no trigrams."""
    yield from _running(PGVECTOR)


def _running(kind: str) -> Iterator[PostgresServer]:
    if reason := unavailable_reason(kind):
        pytest.skip(reason)
    server = PostgresServer(kind)
    server.start()
    yield server
    server.remove()
