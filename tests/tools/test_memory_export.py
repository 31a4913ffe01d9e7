import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable, PathRefused
from agent.memory.base import CORE, MemoryEntry, Scope
from agent.memory.generations import Generations
from agent.memory.snapshot import whole
from agent.memory.sqlite import SqliteMemory
from agent.messages import Effect, Provenance, ToolResult
from agent.tools import memory_export
from agent.tools.base import ToolContext
from agent.tools.memory_export import MemoryExportTool
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import PreparedMemory

OWNER = ToolContext("terminal_owner", "owner", Provenance.OWNER)
PAGE = "https://example.org/tea"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    made = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    mine = Scope("owner", "terminal_owner")
    await made.store("sister", "Mei is my sister\n```\n## no key", scope=mine)
    await made.store("tea", "tea heals", scope=mine, provenance=Provenance.WEB, source=PAGE)
    await made.store("house", "the house is old", scope=Scope())
    await made.store("secret", "not for others", scope=Scope("guest"))
    yield made
    await made.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class TornMemory(PreparedMemory):
    """Ends in the middle."""

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        yield MemoryEntry(1, "k", "c", CORE, Provenance.OWNER, Scope("owner"), 0.0, 0.0)
        raise MemoryUnavailable("the database is torn")


async def export(tool: MemoryExportTool, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), OWNER)


def entries_in(workspace: Path, name: str) -> list[MemoryEntry | None]:
    (workspace / name).rename(workspace / Generations(workspace).newest_path.name)
    (generation,) = Generations(workspace).every()
    assert generation.is_whole()
    return list(generation.entries())


async def test_what_is_known_of_the_person_reads_back_as_it_was(
    memory: SqliteMemory, workspace: Path
) -> None:
    result = await export(MemoryExportTool(memory, workspace, whole))
    told = json.loads(result.text)
    assert (told["path"], told["memories"]) == ("memories.md", 3)
    found = entries_in(workspace, "memories.md")
    assert found == [
        entry async for entry in memory.entries() if entry.scope.owner != "person:guest"
    ]
    tea = next(entry for entry in found if entry and entry.key == "tea")
    assert (tea.provenance, tea.source) == (Provenance.WEB, PAGE)


async def test_what_others_said_is_not_in_it(memory: SqliteMemory, workspace: Path) -> None:
    await export(MemoryExportTool(memory, workspace, whole), path="notes/mine.md")
    text = (workspace / "notes" / "mine.md").read_text()
    assert "the house is old" in text
    assert "not for others" not in text


@pytest.mark.parametrize(
    "path", ["../memories.md", "/etc/passwd", ".results/x.md", "plants/.git/HEAD"]
)
async def test_it_goes_nowhere_but_into_the_workspace(
    memory: SqliteMemory, workspace: Path, path: str
) -> None:
    with pytest.raises(PathRefused):
        await export(MemoryExportTool(memory, workspace, whole), path=path)


async def test_more_than_fits_is_refused_and_nothing_is_written(
    memory: SqliteMemory, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_export, "MAX_EXPORT_BYTES", 40)
    result = await export(MemoryExportTool(memory, workspace, whole))
    assert (result.success, "barnacle memory snapshot" in result.text) == (False, True)
    assert names(workspace) == []


async def test_a_memory_that_cannot_be_read_is_a_sentence(workspace: Path) -> None:
    result = await export(MemoryExportTool(TornMemory(), workspace, whole))
    assert (result.success, result.text) == (False, "the database is torn")
    assert names(workspace) == []


def test_it_writes_and_a_yes_is_bound_to_what_stands_there(workspace: Path) -> None:
    tool = MemoryExportTool(PreparedMemory(), workspace, whole)
    assert tool.effect is Effect.WRITE
    assert tool.binds_to(tool.parse("{}")).files == ("memories.md",)


async def test_an_entry_that_nobody_vouched_for_stays_so(workspace: Path) -> None:
    page = MemoryEntry(1, "k", "c", CORE, Provenance.WEB, Scope("owner"), 0.0, 0.0)
    await export(MemoryExportTool(PreparedMemory([page]), workspace, whole))
    (found,) = entries_in(workspace, "memories.md")
    assert found is not None
    assert found.provenance is Provenance.WEB
