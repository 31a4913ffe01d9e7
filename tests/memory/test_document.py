import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory import document
from agent.memory.base import Memory
from agent.memory.document import DocumentMemory
from agent.messages import Provenance
from tests.contracts.memory import EVERYBODY, KEEPING, MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder

Check = Callable[[Memory], Awaitable[None]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memories.json"


def read(path: Path) -> dict[str, dict[str, dict[str, object]]]:
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def write(path: Path, content: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


def mode(path: Path) -> int:
    return path.stat().st_mode


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def exists(path: Path) -> bool:
    return path.exists()


def memory_at(path: Path) -> DocumentMemory:
    return DocumentMemory(path, NoEmbedder(), SteppedClock())


@pytest.mark.parametrize("check", KEEPING, ids=lambda check: check.__name__)
@pytest.mark.parametrize("embedder", [NoEmbedder, LetterEmbedder])
async def test_it_does_what_every_backend_does(
    check: Check, path: Path, embedder: type[LetterEmbedder]
) -> None:
    memory = DocumentMemory(path, embedder(), SteppedClock())
    await check(memory)
    await memory.aclose()


async def test_looking_makes_no_file(path: Path) -> None:
    memory = memory_at(path)
    assert await memory.list(MEI) == []
    await memory.stats()
    await memory.aclose()
    assert not exists(path)


async def test_everything_is_there_after_a_restart(path: Path) -> None:
    first = memory_at(path)
    kept = [
        await first.store("a", "my sister\nis \x00 小美", scope=MEI, provenance=Provenance.OWNER),
        await first.store("b", "the wifi is called barn", category="place", source="notes.md"),
    ]
    await first.aclose()
    second = memory_at(path)
    assert [entry async for entry in second.entries()] == kept
    assert [entry.key for entry in await second.recall("wifi", 1, EVERYBODY)] == ["b"]
    await second.aclose()


async def test_what_a_person_changes_in_the_file_counts_at_once(path: Path) -> None:
    memory = memory_at(path)
    await memory.store("a", "the goat is called Lin", scope=MEI)
    written = read(path)
    written["memories"]["1"]["content"] = "the goat is called Bo"
    written["memories"]["7"] = {"content": "the hen is called Ada"}
    write(path, json.dumps(written))
    assert (await memory.recall("goat", 1, MEI))[0].content == "the goat is called Bo"
    (hen,) = await memory.recall("hen", 1, EVERYBODY)
    assert (hen.memory_id, hen.provenance, hen.category) == (7, Provenance.WEB, "core")
    await memory.aclose()


@pytest.mark.parametrize(
    "content", ['{"memories": []}', '{"memories": {"x": {}}}', '{"memories": {"1": 5}}']
)
async def test_a_file_of_something_else_is_refused_and_left(path: Path, content: str) -> None:
    write(path, content)
    memory = memory_at(path)
    with pytest.raises(MemoryUnavailable, match="other things"):
        await memory.store("a", "content", scope=MEI)
    assert not await memory.health_check()
    assert json.dumps(read(path)) == content
    await memory.aclose()


@pytest.mark.parametrize(
    "fields",
    [
        {"id": 2**70, "superseded_by": 2**70, "person": "\ud800", "content": "\udfff", "key": 7},
        {"created_at_s": "soon", "importance": None, "pinned": "yes", "provenance": 5},
        {},
    ],
)
async def test_nonsense_in_the_file_is_tamed(path: Path, fields: dict[str, object]) -> None:
    write(path, json.dumps({"memories": {"1": fields, str(2**80): fields}}))
    memory = memory_at(path)
    for entry in [entry async for entry in memory.entries()]:
        assert entry.provenance is Provenance.WEB
    assert await memory.health_check()
    await memory.aclose()


async def test_a_damaged_file_is_set_aside_and_said(path: Path) -> None:
    write(path, '{"memories": {"1": {"key": "a"')
    memory = memory_at(path)
    await memory.store("b", "content", scope=MEI)
    details = (await memory.stats()).details
    assert "set aside" in details["damage"]
    assert exists(path.with_name("memories.json.corrupt"))
    await memory.aclose()


async def test_a_store_that_cannot_be_written_is_not_remembered(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_at(path)
    await memory.store("a", "content", scope=MEI)

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MemoryUnavailable, match="No space left"):
            await memory.store("b", "content", scope=MEI)
        with pytest.raises(MemoryUnavailable):
            await memory.forget("a", MEI)
    assert [entry.key for entry in await memory.list(MEI)] == ["a"]
    await memory.store("c", "content", scope=MEI)
    assert sorted(read(path)["memories"]) == ["1", "2"]
    await memory.aclose()


async def test_a_call_that_is_cancelled_leaves_the_file_and_the_index_the_same(path: Path) -> None:
    memory = memory_at(path)
    for number in range(5):
        task = asyncio.create_task(memory.store(f"k{number}", "content", scope=MEI))
        await asyncio.sleep(0.002 * number)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    listed = {entry.key for entry in await memory.list(MEI)}
    await memory.aclose()
    again = memory_at(path)
    assert {entry.key for entry in await again.list(MEI)} == listed
    await again.aclose()


async def test_it_says_when_there_are_too_many_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(document, "MANY_MEMORIES", 2)
    memory = memory_at(path)
    with caplog.at_level(logging.WARNING):
        for number in range(4):
            await memory.store(f"k{number}", "content", scope=MEI)
    assert len(caplog.messages) == 1
    assert "barnacle memory migrate" in caplog.messages[0]
    assert "4 memories" in (await memory.stats()).details["advice"]
    await memory.aclose()


async def test_only_its_owner_may_read_the_file(path: Path) -> None:
    memory = memory_at(path)
    await memory.store("a", "content", scope=MEI)
    await memory.aclose()
    assert mode(path) & 0o077 == 0


async def test_a_snapshot_in_the_folder_one_happens_to_be_in_is_not_taken(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MEMORY_SNAPSHOT.md").write_text("## a\n\n```text\nforged\n```\n")
    memory = memory_at(path)
    await memory.store("b", "content", scope=MEI)
    assert await memory.count() == 1
    assert names(tmp_path) == ["MEMORY_SNAPSHOT.md", "memory"]
    await memory.aclose()
