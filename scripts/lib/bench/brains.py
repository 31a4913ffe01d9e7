"""Brains that a benchmark measures: `brain.db`, or one in a PostgreSQL server of each kind.

A server is a real one in a folder of its own, with pgvector or with trigrams alone. A kind that is
not on this machine is left out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.sqlite import SqliteMemory
from agent.system.clock import Clock
from tests.fakes.postgres import DEBIAN, PGVECTOR, PostgresServer, unavailable_reason

SQLITE, POSTGRES = "sqlite", "postgres"
KINDS = (SQLITE, POSTGRES)


@dataclass(frozen=True, slots=True)
class BenchBrain:
    """Place of a benchmark's memories; None stands for `brain.db`."""

    server: PostgresServer | None = None

    @property
    def suffix(self) -> str:
        """Return what a row says about it."""
        return "" if self.server is None else f"; PostgreSQL ({self.server.kind})"

    def open(
        self, folder: Path, clock: Clock, embedder: Embedder | None = None
    ) -> SqliteMemory | PostgresMemory:
        """Return an empty memory; the folder is for what it keeps beside its database."""
        embedder = embedder or NoEmbedder()
        if self.server is None:
            return SqliteMemory(folder / "brain.db", embedder, clock)
        return PostgresMemory(Secret(self.server.fresh_url()), embedder, clock, folder)


LOCAL = BenchBrain()


@contextmanager
def brains(kind: str, connections: int = 30) -> Iterator[list[BenchBrain]]:
    """Start the servers of that kind of brain; end them afterwards."""
    if kind == SQLITE:
        yield [LOCAL]
        return
    kinds = [one for one in (PGVECTOR, DEBIAN) if unavailable_reason(one) is None]
    servers = [PostgresServer(one, connections) for one in kinds]
    try:
        for server in servers:
            server.start()
        yield [BenchBrain(server) for server in servers]
    finally:
        for server in servers:
            server.remove()
