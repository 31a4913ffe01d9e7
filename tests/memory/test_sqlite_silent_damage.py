"""Damage of a database that was closed whole: the disk changed it, and nothing else tells.

Such a file answers before it is checked. Until then nothing is written to it.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from threading import Event

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.storage import clean_end, soundness
from agent.storage.database import was_set_aside
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock
from tests.memory.test_sqlite_damage import damaged_versions, numbers_after
from tests.waits import wait_until

# Each takes a few seconds
PARTS = 3
FACTS = 40


def opened(path: Path) -> SqliteMemory:
    return SqliteMemory(path, NoEmbedder(), SteppedClock())


@pytest.fixture
async def kept(tmp_path: Path) -> Path:
    """A database of a few memories that was closed whole; its snapshot is beside it."""
    path = tmp_path / "sound" / "brain.db"
    memory = opened(path)
    for number in range(FACTS):
        words = " ".join(f"w{number * other}" for other in range(30))
        await memory.store(f"k{number}", f"fact {number} {words}", scope=MEI)
    await take_snapshot(memory, path.parent)
    await memory.aclose()
    return path


def damaged(kept: Path, folder: Path, content: bytes) -> Path:
    """Return a copy with that content, noted as closed whole."""
    path = folder / "brain.db"
    shutil.copytree(kept.parent, folder)
    path.write_bytes(content)
    clean_end.note(path)
    return path


async def numbers(memory: SqliteMemory) -> set[int]:
    listed = await memory.list(MEI, limit=1000)
    facts = (entry.content.split() for entry in listed)
    return {int(words[1]) for words in facts if words[0] == "fact" and words[1].isdigit()}


@pytest.fixture
def held_checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Checks that wait for an event."""
    released, is_sound = Event(), soundness.is_sound

    def waiting(path: Path, hold: object) -> bool:
        assert released.wait(60)
        return is_sound(path, hold)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(soundness, "is_sound", waiting)
    yield released
    released.set()


async def test_a_question_is_answered_before_the_check_and_a_change_after_it(
    kept: Path, held_checks: Event
) -> None:
    memory = opened(kept)
    assert (await memory.recall("fact w7", 5, MEI))[0].content.startswith("fact")
    assert await memory.count() == FACTS
    storing = asyncio.create_task(memory.store("new", "a new memory", scope=MEI))
    assert await memory.get("new", MEI) is None
    assert not storing.done()
    held_checks.set()
    await storing
    assert await memory.get("new", MEI) is not None
    await memory.aclose()


async def test_a_memory_that_is_closed_waits_for_no_check(kept: Path) -> None:
    memory = opened(kept)
    assert await memory.count() == FACTS
    await memory.aclose()
    assert clean_end.is_noted(kept)


async def test_after_a_cut_it_is_checked_before_it_answers(kept: Path, tmp_path: Path) -> None:
    path = damaged(kept, tmp_path / "cut", spoiled_free_pages(kept))
    clean_end.forget(path)
    memory = opened(path)
    assert await numbers(memory) == set(range(FACTS))
    assert was_set_aside(path)
    await memory.aclose()


def spoiled_free_pages(kept: Path) -> bytes:
    """Return the content with more free pages than there are: no look meets that."""
    spoiled = bytearray(kept.read_bytes())
    spoiled[36:40] = (7).to_bytes(4)
    return bytes(spoiled)


async def test_what_only_the_check_finds_is_set_aside_as_it_was(
    kept: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = await asyncio.to_thread(spoiled_free_pages, kept)
    path = damaged(kept, tmp_path / "silent", content)
    memory = opened(path)
    assert await numbers(memory) == set(range(FACTS))
    await wait_until(lambda: "its check found damage" in caplog.text)
    assert await numbers(memory) == set(range(FACTS))
    (aside,) = was_set_aside(path)
    assert aside.read_bytes() == content
    assert "came back from MEMORY_SNAPSHOT.md" in caplog.text
    await memory.store("new", "a new memory", scope=MEI)
    await memory.aclose()


async def test_a_store_that_meets_the_damage_is_kept_in_the_restored_one(
    kept: Path, tmp_path: Path
) -> None:
    content = await asyncio.to_thread(spoiled_free_pages, kept)
    path = damaged(kept, tmp_path / "silent", content)
    memory = opened(path)
    await memory.store("new", "a new memory", scope=MEI)
    assert await memory.get("new", MEI) is not None
    assert await numbers(memory) == set(range(FACTS))
    (aside,) = was_set_aside(path)
    assert aside.read_bytes() == content
    await memory.aclose()


async def test_what_the_snapshot_lacks_is_read_from_the_damaged_one(
    kept: Path, tmp_path: Path
) -> None:
    memory = opened(kept)
    await memory.store("late", "said after the snapshot", scope=MEI)
    await memory.aclose()
    content = await asyncio.to_thread(spoiled_free_pages, kept)
    memory = opened(damaged(kept, tmp_path / "silent", content))
    await memory.store("new", "a new memory", scope=MEI)
    assert await memory.get("late", MEI) is not None
    await memory.aclose()


def is_seen(content: bytes, folder: Path) -> bool:
    """Return true if a check finds the damage: some of the word index only its user meets."""
    path = folder / "seen.db"
    path.write_bytes(content)
    return not soundness.is_sound(path)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("asks_first", [True, False])
async def test_whatever_is_damaged_the_memories_come_back(
    part: int, kept: Path, tmp_path: Path, *, asks_first: bool
) -> None:
    whole = await asyncio.to_thread(kept.read_bytes)
    came_back = 0
    for number, (what, content) in enumerate(islice(damaged_versions(whole), part, None, PARTS)):
        path = damaged(kept, tmp_path / f"{number}", content)
        if asks_first and await asyncio.to_thread(is_seen, content, tmp_path):
            memory = opened(path)
            # No question is refused: where the file cannot be read, the restored one answers
            await memory.recall("fact w12", 5, MEI)
            await memory.aclose()
        found = await numbers_after(3, path)
        if was_set_aside(path):
            assert found >= set(range(FACTS)), what
            came_back += 1
            if not asks_first and await asyncio.to_thread(is_seen, content, tmp_path):
                assert was_set_aside(path)[0].read_bytes() == content, what
        assert len(found & set(range(FACTS))) >= FACTS - 1, what
        shutil.rmtree(path.parent)
    assert came_back > 10


async def test_a_check_that_finds_damage_forgets_what_was_read(kept: Path, tmp_path: Path) -> None:
    content = await asyncio.to_thread(spoiled_free_pages, kept)
    memory = opened(damaged(kept, tmp_path / "silent", content))
    await memory.count()
    failures = memory._brain.failures
    await wait_until(lambda: memory._brain.failures > failures)
    await memory.aclose()


async def test_upkeep_that_finds_damage_notes_no_clean_end(kept: Path) -> None:
    memory = opened(kept)
    await memory.store("new", "a new memory", scope=MEI)
    memory._brain.doubt()
    await memory.aclose()
    assert not clean_end.is_noted(kept)
    with sqlite3.connect(kept) as db:
        assert db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    db.close()
