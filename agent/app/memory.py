"""Composition of the memory: store, tools, documents, hygiene and consolidation.

Parts are made here and handed over; what begins its work only later is loaded only then.
"""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

from agent.embeddings.base import Embedder
from agent.memory.base import Embeds, Memory, StoreLimits
from agent.messages import Provenance
from agent.providers.base import Provider
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.tools.base import AnyTool

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.memory.consolidation import Consolidation, Listen
    from agent.memory.documents import Documents
    from agent.memory.hygiene import Hygiene
    from agent.turn.summary import Summaries

# ruff: noqa: PLC0415  # hygiene, consolidation and documents begin after the start, or never
_log = logging.getLogger(__name__)

# A start on a Pi Zero takes ten seconds, and a restart at work is rare enough to wait this long
START_IS_OVER_S = 60.0


@runtime_checkable
class _Trims(Protocol):
    """An embedder with a cache."""

    async def trim(self) -> int: ...


class AgentMemory(Struct, frozen=True):
    """The memory of an agent and all that is done for it.

    Args:
        documents: None where there is no folder of them.
    """

    settings: Settings
    paths: Paths
    memory: Memory
    documents: "Documents | None"
    embedder: Embedder
    clock: Clock
    # Told of each answered message once there is somebody to tell
    listeners: "list[Callable[[], None]]" = field(default_factory=list)

    def heard(self) -> None:
        """Note that a message was answered."""
        for listener in self.listeners:
            listener()

    def tools(self) -> list[AnyTool]:
        from agent.tools.memory import MemoryForgetTool, MemoryRecallTool, MemoryStoreTool
        from agent.tools.memory_sources import MemoryListTool, MemorySourceTool

        memory, documents = self.memory, self.documents
        tools: list[AnyTool] = [
            MemoryForgetTool(memory),
            MemoryListTool(memory),
            MemoryRecallTool(memory, documents),
            MemorySourceTool(memory),
            MemoryStoreTool(memory),
        ]
        if documents is not None:
            from agent.tools.datasheet import DatasheetSearchTool

            tools.append(DatasheetSearchTool(documents))
        return tools

    def sentence(self) -> str:
        """Return the memory's news for a person; usually empty."""
        said = []
        if isinstance(self.memory, Embeds) and (lacking := self.memory.lacking_vectors):
            said.append(
                f"{lacking} memories are found by words only, until their vectors are computed"
            )
        if self.documents is not None and (troubles := self.documents.troubles):
            name, why = next(iter(troubles.items()))
            said.append(f"{len(troubles)} documents cannot be read, such as {name}: {why}")
        return "; ".join(said)

    async def run(self, journal: DatabaseWorker, provider: Provider, listen: "Listen") -> None:
        """Everything that is done in the background; until cancelled.

        Args:
            listen: returns the messages to be remembered.
        """
        async with asyncio.TaskGroup() as tasks:
            if self.documents is not None:
                tasks.create_task(self.documents.run())
            if provider.name != "offline":
                tasks.create_task(self._summaries(journal, provider).run())
            if self._keeps_something():
                tasks.create_task(self._hygiene().run())
                tasks.create_task(self._consolidate(provider, listen))

    async def aclose(self) -> None:
        """Tidy up, take a snapshot, close."""
        if self._keeps_something() and await asyncio.to_thread(self._was_used):
            await self._hygiene().stop()
        await self._snapshot()
        await self.memory.aclose()
        if self.documents is not None:
            await self.documents.aclose()

    def _keeps_something(self) -> bool:
        return self.settings.memory.backend != "none"

    def _was_used(self) -> bool:
        """Return true if there is anything to tidy: the end of an agent makes no files."""
        folder = self.paths.brain_db.parent
        return folder.is_dir() and any(folder.iterdir())

    def _hygiene(self) -> "Hygiene":
        from agent.memory.hygiene import Chores, Hygiene

        wanted, folder = self.settings.memory, self.paths.brain_db.parent
        chores = Chores(
            StoreLimits(wanted.conversation_days, wanted.max_memories),
            folder / "archive" if wanted.archive else None,
            self._snapshot,
            self._trim,
        )
        return Hygiene(self.memory, chores, self.paths.hygiene_file, self.clock)

    def _summaries(self, journal: DatabaseWorker, provider: Provider) -> "Summaries":
        from agent.turn.summary import Summaries

        return Summaries(journal, provider, self.clock)

    async def _consolidate(self, provider: Provider, listen: "Listen") -> None:
        """Keep what is said; begin when something was, or when the start is long over."""
        said = asyncio.Event()
        self.listeners.append(said.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_IS_OVER_S):
                await said.wait()
        consolidation = await asyncio.to_thread(self._consolidation, provider, listen)
        self.listeners.append(consolidation.hear)
        if said.is_set():
            consolidation.hear()
        await consolidation.run()

    def _consolidation(self, provider: Provider, listen: "Listen") -> "Consolidation":
        from agent.memory.consolidation import Consolidation

        draws = self.settings.memory.consolidate and provider.name != "offline"
        state_file = self.paths.brain_db.parent / "consolidation.json"
        asked = provider if draws else None
        return Consolidation(listen, self.memory, asked, state_file, self.clock)

    async def _snapshot(self) -> None:
        if self.settings.memory.snapshot:
            from agent.memory.transfer import keep_snapshot

            await keep_snapshot(self.memory, self.paths.brain_db.parent)

    async def _trim(self) -> int:
        return await self.embedder.trim() if isinstance(self.embedder, _Trims) else 0


def open_memory(settings: Settings, paths: Paths, embedder: Embedder, clock: Clock) -> AgentMemory:
    """The backend that the settings choose, and the documents where there is a folder of them."""
    from agent.memory.backends import BackendPlace, open_backend
    from agent.memory.former_backend import left_behind, note

    place = BackendPlace(settings.memory, paths.state_dir, embedder, clock)
    if said := left_behind(place):
        _log.warning("%s", said)
    else:
        note(place, settings.memory.backend)
    documents = _documents(settings, paths, embedder, clock)
    return AgentMemory(settings, paths, open_backend(place), documents, embedder, clock)


def _documents(
    settings: Settings, paths: Paths, embedder: Embedder, clock: Clock
) -> "Documents | None":
    if not paths.documents.is_dir():
        return None
    from agent.memory.documents import Documents
    from agent.memory.sqlite import SqliteMemory

    folder = paths.state_dir / "documents"
    index = SqliteMemory(folder / "index.db", embedder, clock)
    trust = Provenance[settings.memory.documents_trust.upper()]
    documents = Documents(paths.documents, index, folder / "files.json", trust, clock)
    documents.pages = lambda path: _pages_apart(path, paths.workspace)
    return documents


async def _pages_apart(path: Path, workspace: Path) -> list[str]:
    """A PDF is read in the sandbox where there is one; few folders have any."""
    from agent.memory.pdf import pages_of
    from agent.security.sandbox.choice import choose

    choice = await asyncio.to_thread(choose, workspace)
    return await pages_of(path, sandbox=choice.sandbox)
