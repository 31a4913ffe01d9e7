"""Recall from PostgreSQL beside `brain.db`: the same memories, the same questions, by turns.

Servers with pgvector, and with trigrams alone; each is a real one in a folder of its own. A server
that is not on this machine has no row.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.base import Memory, Scope
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.sqlite import SqliteMemory
from scripts.lib.bench.brains import LOCAL, POSTGRES, BenchBrain, brains
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.recalled import KeptReadings, Shares, StoryClock, stored
from scripts.lib.bench.table import Row
from tests.fakes.postgres import PostgresServer

# R@5 and R@10 may be lower by so many points
LEAST_POINTS = 2.0
MOST_TIMES = 2.0
QUESTIONS = 200
_OWNER = Scope("owner")
_FOUND = 10


@dataclass(slots=True)
class _Store:
    """One store with the same memories as the others."""

    memory: Memory
    keys: dict[str, str]
    shares: Shares = field(default_factory=Shares)
    taken_s: list[float] = field(default_factory=list)

    async def ask(self, text: str, wanted: frozenset[str]) -> None:
        began_s = time.perf_counter()
        found = await self.memory.recall(text, _FOUND, _OWNER)
        self.taken_s.append(time.perf_counter() - began_s)
        self.shares.count([self.keys[entry.key] for entry in found], wanted)


def measure(dataset: Dataset, model: Path, _: BenchBrain = LOCAL) -> list[Row]:
    """The rows of one data set, with the model and by words alone."""
    with brains(POSTGRES) as found:
        servers = {brain.server.kind: brain.server for brain in found if brain.server is not None}
        return asyncio.run(_measured(dataset.thinned(QUESTIONS), model, servers))


async def _measured(dataset: Dataset, model: Path, servers: dict[str, PostgresServer]) -> list[Row]:
    embedder = OnnxEmbedder(model)
    kept = KeptReadings(embedder)
    rows = [
        *await _compared(dataset, "with the model", kept, servers),
        *await _compared(dataset, "words only", NoEmbedder(), servers),
    ]
    await embedder.aclose()
    return rows


async def _compared(
    dataset: Dataset,
    what: str,
    embedder: KeptReadings | NoEmbedder,
    servers: dict[str, PostgresServer],
) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
        clock = StoryClock()
        memories: dict[str, Memory] = {
            "sqlite": SqliteMemory(Path(folder) / "brain.db", embedder, clock)
        }
        for kind, server in servers.items():
            memories[kind] = PostgresMemory(Secret(server.fresh_url()), embedder, clock)
        stores = {
            kind: _Store(memory, await stored(memory, dataset, clock))
            for kind, memory in memories.items()
        }
        for query in dataset.queries:
            # By turns, so that a slow moment of the machine meets all of them
            for store in stores.values():
                await store.ask(query.text, query.wanted)
        for memory in memories.values():
            await memory.aclose()
    return [_row(dataset, f"{kind}, {what}", stores[kind], stores["sqlite"]) for kind in servers]


def _row(dataset: Dataset, what: str, store: _Store, beside: _Store) -> Row:
    ratio = statistics.median(store.taken_s) / statistics.median(beside.taken_s)
    lost = max(beside.shares.at(first) - store.shares.at(first) for first in (5, 10))
    return Row(
        f"{dataset.name} in one PostgreSQL, {what}",
        f"within {LEAST_POINTS:g} points of sqlite, p50 <= {MOST_TIMES:g}x",
        f"{store.shares.text()}, {ratio:.2f}x ({_ms(store.taken_s)})",
        f"sqlite {beside.shares.text()} ({_ms(beside.taken_s)})",
        lost <= LEAST_POINTS and ratio <= MOST_TIMES,
    )


def _ms(taken_s: Sequence[float]) -> str:
    return f"{statistics.median(taken_s) * 1e3:.1f} ms"
