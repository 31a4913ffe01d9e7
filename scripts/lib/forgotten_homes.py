"""Homes of a memory that is killed while it forgets: its database, and how that gets lost."""

import asyncio
from pathlib import Path
from typing import Protocol

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Memory
from agent.memory.generations import Generations
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.sqlite import SqliteMemory
from agent.system.clock import SystemClock
from tests.fakes.postgres import PostgresServer


class MemoryHome(Protocol):
    """Place of a memory."""

    def arguments(self) -> list[str]:
        """Return what a process needs to open it."""

    def copy(self) -> None:
        """Keep a copy of the database, if that is how it comes back."""

    def lose(self) -> set[str] | None:
        """Lose the database; return the keys that come back, None where it was not lost."""


def opened(store: Path, url: str | None) -> Memory:
    """Return the memory of a home; `store` is a database, or the folder beside a server's."""
    if url is None:
        return SqliteMemory(store, NoEmbedder(), SystemClock())
    return PostgresMemory(Secret(url), NoEmbedder(), SystemClock(), store)


class LocalHome:
    """A `brain.db`; when it is lost, its snapshot has the rest."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "brain.db"

    def arguments(self) -> list[str]:
        return ["--store", str(self._path)]

    def copy(self) -> None:
        """Snapshots are taken by the agent itself."""

    def lose(self) -> set[str] | None:
        every = Generations(self._path.parent).every()
        newest = next((one for one in every if one.is_whole()), None)
        kept = set() if newest is None else {one.key for one in newest.entries() if one is not None}
        for left in self._path.parent.glob("brain.db*"):
            left.unlink()
        return kept


class SharedHome:
    """A database of a server; when it is lost, an older copy takes its place."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._name = server.fresh_url().rpartition("/")[2].partition("?")[0]
        self._copies = 0
        self._copied: set[str] | None = None

    def arguments(self) -> list[str]:
        return ["--store", str(self._folder), "--url", self._server.url(self._name)]

    def copy(self) -> None:
        if self._copied is not None:
            self._drop(self._copy_name)
        self._copied = asyncio.run(self._keys())
        self._copies += 1
        # It waits for the connection of a killed agent to end
        self._server.sql(f"CREATE DATABASE {self._copy_name} TEMPLATE {self._name}")

    def lose(self) -> set[str] | None:
        if self._copied is None:
            return None
        kept, self._copied = self._copied, None
        self._drop(self._name)
        self._name = self._copy_name
        return kept

    @property
    def _copy_name(self) -> str:
        return f"copy{self._copies}"

    def _drop(self, database: str) -> None:
        self._server.sql(f"DROP DATABASE {database} WITH (FORCE)")

    async def _keys(self) -> set[str]:
        memory = opened(self._folder, self._server.url(self._name))
        kept = {entry.key async for entry in memory.entries()}
        await memory.aclose()
        return kept
