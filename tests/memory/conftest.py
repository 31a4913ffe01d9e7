"""A memory of each kind, closed when its test is over."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent.embeddings.base import Embedder
from agent.memory.sqlite import SqliteMemory
from tests.fakes.clock import SteppedClock

MakeMemory = Callable[[Embedder], SqliteMemory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "brain.db"


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
