"""`barnacle memory import` in a process of its own, beside an agent that goes on remembering."""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent.memory.backends import BackendPlace, open_backend
from agent.memory.base import Memory, Scope
from agent.memory.settings import Backend, MemorySettings
from agent.messages import Provenance
from agent.system.clock import SystemClock
from tests.fakes.embedders import LetterEmbedder
from tests.waits import wait_until

# Enough that both write at once for a while
IMPORTED = 60
OWNER = Scope("owner")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Notes of another agent."""
    path = tmp_path / "notes" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("".join(f"- Plant number {number} is thirsty\n" for number in range(IMPORTED)))
    return path


def opened(folder: Path, backend: Backend) -> Memory:
    """The memory of an agent at work."""
    settings = MemorySettings(backend=backend)
    return open_backend(BackendPlace(settings, folder / "state", LetterEmbedder(), SystemClock()))


async def importing(folder: Path, backend: Backend, notes: Path) -> "asyncio.subprocess.Process":
    config = folder / "barnacle.toml"
    config.write_text(f'[memory]\nbackend = "{backend}"\n')
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent.cli.main", "--config", str(config), "memory", "import"),
        str(notes),
        env={"HOME": str(folder), "BARNACLE_STATE_DIR": str(folder / "state")},
        stdout=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("backend", ["sqlite", "document", "markdown"])
async def test_nothing_is_lost_of_what_both_write(
    tmp_path: Path, notes: Path, backend: Backend
) -> None:
    memory = opened(tmp_path, backend)
    try:
        await memory.store("first", "the first", scope=OWNER, provenance=Provenance.OWNER)
        process = await importing(tmp_path, backend, notes)
        ended, said = asyncio.create_task(process.communicate()), list[str]()
        while not ended.done():
            said.append(f"agent {len(said)}")
            await memory.store(said[-1], said[-1], scope=OWNER, provenance=Provenance.OWNER)
        out, _ = await ended
        kept = [entry.content async for entry in memory.entries()]
    finally:
        await memory.aclose()
    assert f"imported {IMPORTED} memories" in out.decode()
    assert sorted(one for one in said if one not in kept) == []
    assert sum(one.startswith("Plant number") for one in kept) == IMPORTED
    assert len(kept) == len(said) + IMPORTED + 1


async def test_what_is_imported_gets_its_vectors_without_a_restart(
    tmp_path: Path, notes: Path
) -> None:
    memory = opened(tmp_path, "sqlite")
    try:
        await memory.store("first", "the first", scope=OWNER, provenance=Provenance.OWNER)
        await memory.recall("what is first?", 5, OWNER)
        process = await importing(tmp_path, "sqlite", notes)
        await process.communicate()

        async def are_embedded() -> bool:
            await memory.recall("who needs water?", 5, OWNER)
            path = tmp_path / "state" / "memory" / "brain.db"
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                (found,) = db.execute("SELECT count(*) FROM memory_vectors").fetchone()
            return bool(found == IMPORTED + 1)

        await wait_until(are_embedded, 20.0)
    finally:
        await memory.aclose()
