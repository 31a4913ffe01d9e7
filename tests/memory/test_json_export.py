import json
from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.memory import imports
from agent.memory.base import CORE, DAILY
from agent.messages import Provenance
from tests.contracts.memory import MEI
from tests.memory.conftest import MakeMemory


async def imported(make_memory: MakeMemory, path: Path) -> dict[str, tuple[str, str]]:
    memory = make_memory(NoEmbedder())
    await imports.bring_in(memory, path, MEI)
    entries = [entry async for entry in memory.entries()]
    assert all(entry.provenance is Provenance.WEB for entry in entries)
    return {entry.content: (entry.category, entry.source) for entry in entries}


async def test_an_export_of_mem0_is_read(make_memory: MakeMemory, tmp_path: Path) -> None:
    told = {"id": "1", "memory": "Mei likes tea", "created_at": "2026-03-01T10:00:00+00:00"}
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": [told, {"memory": "Tom is allergic to nuts"}]}))
    assert await imported(make_memory, file) == {
        "Mei likes tea": (CORE, "mem0"),
        "Tom is allergic to nuts": (CORE, "mem0"),
    }


async def test_the_persons_blocks_of_letta_are_read(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    blocks = [
        {"label": "human", "value": "- Name: Mei\n- Likes tea"},
        {"label": "persona", "value": "I am a helpful assistant"},
    ]
    file = tmp_path / "agent.af"
    file.write_text(json.dumps({"agents": [], "blocks": blocks}))
    assert await imported(make_memory, file) == {
        "Name: Mei": (CORE, "letta:human"),
        "Likes tea": (CORE, "letta:human"),
    }


async def test_nanobots_folder_is_read(make_memory: MakeMemory, tmp_path: Path) -> None:
    notes = tmp_path / "memory"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Long-term Memory\n\n## User\n\n- Likes tea\n")
    (notes / "HISTORY.md").write_text("[2026-03-01 10:00] The boiler was repaired\n")
    for folder in (tmp_path, notes):
        assert await imported(make_memory, folder) == {
            "User: Likes tea": (CORE, "openclaw:MEMORY.md"),
            "[2026-03-01 10:00] The boiler was repaired": (DAILY, "openclaw:HISTORY.md"),
        }
