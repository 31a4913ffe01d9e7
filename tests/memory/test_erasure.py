"""Erasing the words of what was forgotten from every file."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory import brain
from agent.memory.base import CONVERSATION, Scope, StoreLimits
from agent.memory.brain import Brain
from agent.memory.generations import Generations
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

WORD = "zyxwombat"
ME = Scope("me")
SECRET = f"the {WORD} is under the third stone"


def opened(folder: Path) -> SqliteMemory:
    return SqliteMemory(folder / "brain.db", NoEmbedder(), SteppedClock())


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    made = opened(tmp_path)
    yield made
    await made.aclose()


async def tell(memory: SqliteMemory, content: str, key: str = "") -> str:
    put = await memory.store(
        key, content, category=CONVERSATION, scope=ME, provenance=Provenance.OWNER
    )
    return put.key


async def told_among_others(memory: SqliteMemory) -> str:
    """Return the key of the secret; its words are in more than one part of the index."""
    for number in range(40):
        await tell(memory, f"the shelf {number} holds {number * 7} jars")
    key = await tell(memory, SECRET)
    for number in range(40):
        await tell(memory, f"the drawer {number} holds {number * 3} spoons")
    return key


def holding(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if WORD.encode() in path.read_bytes()]


async def test_no_file_holds_a_forgotten_word(memory: SqliteMemory, tmp_path: Path) -> None:
    key = await told_among_others(memory)
    await take_snapshot(memory, tmp_path)
    assert await memory.forget(key, ME)
    await memory.aclose()
    assert holding(tmp_path) == []


async def test_a_running_agent_erases_soon(
    memory: SqliteMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brain, "ERASE_WAIT_S", 0.0)
    key = await told_among_others(memory)
    await take_snapshot(memory, tmp_path)
    assert holding(tmp_path)
    await memory.forget(key, ME)
    await wait_until(lambda: not holding(tmp_path))
    assert await memory.count() == 80


async def test_what_is_forgotten_meanwhile_is_erased_too(
    memory: SqliteMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await told_among_others(memory)
    other = await tell(memory, "the jar has plums")
    fold = Brain.fold

    async def forget_after(store: Brain) -> bool:
        is_folded = await fold(store)
        await memory.forget(key, ME)
        return is_folded

    await memory.forget(other, ME)
    with monkeypatch.context() as during:
        during.setattr(Brain, "fold", forget_after)
        await memory._brain.erase()
    await memory.aclose()
    assert holding(tmp_path) == []


async def test_neither_do_the_snapshots_before_the_newest(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    key = await told_among_others(memory)
    for number in range(3):
        await tell(memory, f"the lamp {number} is new")
        await take_snapshot(memory, tmp_path)
    assert len(holding(tmp_path)) > 2
    await memory.forget(key, ME)
    await memory.aclose()
    assert holding(tmp_path) == []
    snapshots = Generations(tmp_path)
    every = snapshots.every()
    assert len(every) == 3
    assert all(snapshots.is_ours(one) for one in every)
    assert [one.count for one in every] == [83, 82, 81]


async def test_a_source_leaves_no_word(memory: SqliteMemory, tmp_path: Path) -> None:
    await told_among_others(memory)
    await memory.store("", f"{WORD} for sale", scope=ME, source="https://example.org")
    key = await tell(memory, "kept")
    await memory.forget(key, ME)
    await memory.forget_source("https://example.org", ME)
    for entry in await memory.list(ME, limit=200):
        if WORD in entry.content:
            await memory.forget(entry.key, ME)
    await memory.aclose()
    assert holding(tmp_path) == []


async def test_the_log_of_what_was_hidden_names_it_no_more(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    old = await tell(memory, f"the {WORD} lives in the barn")
    new = await tell(memory, f"the {WORD} lives in the barn no longer")
    assert await memory.supersede(old, new, ME)
    for key in (old, new):
        await memory.forget(key, ME)
    await memory.aclose()
    assert holding(tmp_path) == []


async def test_what_a_kill_has_cut_off_is_done_by_the_next_upkeep(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    key = await told_among_others(memory)
    await take_snapshot(memory, tmp_path)
    await memory.forget(key, ME)
    killed = shutil.copytree(tmp_path, tmp_path / "killed")
    assert holding(killed)
    again = opened(killed)
    await again.tidy(StoreLimits(), now_s=0.0)
    assert holding(killed) == []
    await again.aclose()


async def test_a_snapshot_that_others_wrote_is_not_taken_for_ours(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    key = await told_among_others(memory)
    await take_snapshot(memory, tmp_path)
    (tmp_path / "memory-seals").unlink()
    await memory.forget(key, ME)
    await memory.aclose()
    assert holding(tmp_path) == []
    snapshots = Generations(tmp_path)
    assert not any(snapshots.is_ours(one) for one in snapshots.every())


async def test_a_snapshot_with_an_unreadable_part_stays_as_it_is(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    key = await told_among_others(memory)
    written = await take_snapshot(memory, tmp_path)
    edited = written.path.read_text().replace("- id: ", "- id: no ", 1)
    written.path.write_text(edited)
    await memory.forget(key, ME)
    await memory.aclose()
    assert written.path.read_text() == edited


async def test_what_was_told_again_stays_in_the_snapshots(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    key = await told_among_others(memory)
    await memory.forget(key, ME)
    await tell(memory, SECRET)
    await take_snapshot(memory, tmp_path)
    await memory.aclose()
    assert "MEMORY_SNAPSHOT.md" in holding(tmp_path)
