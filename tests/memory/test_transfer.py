import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory import generations
from agent.memory.base import MemoryEntry
from agent.memory.generations import KEY_NAME, NAME, SEALS_NAME, Generations
from agent.memory.none import NoMemory
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import carry, keep_snapshot, take_snapshot
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import PreparedMemory, entry
from tests.memory.conftest import MakeMemory

# Kills itself at the step of a snapshot that it is told; every step is a call of the system
_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from agent.system.clock import SystemClock
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot

left = int(sys.argv[2])
at_work = False

def count(event, arguments):
    global left
    steps = ("open", "os.rename", "os.remove", "shutil.copyfile")
    if at_work and event in steps and "MEMORY_SNAPSHOT" in str(arguments[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

async def main():
    global at_work
    folder = Path(sys.argv[1])
    memory = SqliteMemory(folder / "brain.db", NoEmbedder(), SystemClock())
    number = await memory.count()
    await memory.store(f"k{number}", f"fact number {number}", scope=Scope("mei"))
    print(number, flush=True)
    at_work = True
    await take_snapshot(memory, folder)

sys.addaudithook(count)
asyncio.run(main())
"""


def killed_at(step: int, folder: Path) -> tuple[int, bool]:
    """The last memory that was acknowledged, and whether the snapshot was over before."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(folder), str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return int(done.stdout), done.returncode == 0


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


async def test_a_kill_at_any_step_of_a_snapshot_loses_nothing(tmp_path: Path) -> None:
    # Each generation is there, so that every step of ageing happens
    for _ in range(3):
        assert killed_at(1000, tmp_path)[1]
    for step in range(100):
        last, is_over = await asyncio.to_thread(killed_at, step, tmp_path)
        newest, *_ = Generations(tmp_path).every()
        assert newest.is_whole()
        kept = [one.key for one in newest.entries() if one is not None]
        assert kept == [f"k{number}" for number in range(len(kept))]
        assert 3 <= len(kept) <= last + 1
        if is_over:
            break
    assert step > 5
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    listed = {one.key for one in await memory.list(MEI, limit=1000)}
    await memory.aclose()
    assert listed == {f"k{number}" for number in range(last + 1)}


async def test_a_snapshot_goes_over_more_than_a_page(
    make_memory: MakeMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.memory.transfer._PAGE_ENTRIES", 3)
    monkeypatch.setattr("agent.memory.rows.PAGE_ROWS", 2)
    memory = make_memory(NoEmbedder())
    for number in range(7):
        await memory.store(f"k{number}", f"fact {number}", scope=MEI)
    written = await take_snapshot(memory, tmp_path)
    assert written.count == 7
    [kept] = Generations(tmp_path).every()
    assert [one.key for one in kept.entries() if one] == [f"k{number}" for number in range(7)]


async def test_a_store_that_fails_leaves_the_snapshot_that_was_there(tmp_path: Path) -> None:
    class FailingMemory(PreparedMemory):
        async def entries(self) -> AsyncIterator[MemoryEntry]:
            yield entry("one")
            raise MemoryUnavailable("the disk is gone")

    await take_snapshot(PreparedMemory([entry("all is well")]), tmp_path)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(MemoryUnavailable):
        await take_snapshot(FailingMemory(), tmp_path)
    assert (tmp_path / NAME).read_bytes() == before
    assert names(tmp_path) == [NAME, f"{NAME}.lock", KEY_NAME, SEALS_NAME]


async def test_at_a_stop_nothing_is_raised_and_what_is_wrong_is_said(
    make_memory: MakeMemory,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = make_memory(NoEmbedder())
    await keep_snapshot(memory, path.parent)
    assert not path.parent.exists()
    await memory.store("k", "content", scope=MEI)

    def full(_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as disk:
        disk.setattr(generations, "_sync", full)
        await keep_snapshot(memory, path.parent)
    assert "No space left on device" in caplog.text
    await keep_snapshot(memory, path.parent)
    assert Generations(path.parent).every()[0].count == 1


async def test_the_snapshot_of_another_backend_is_not_beside_the_database(tmp_path: Path) -> None:
    await keep_snapshot(PreparedMemory([entry("all is well")]), tmp_path)
    await keep_snapshot(NoMemory(), tmp_path)
    assert names(tmp_path) == ["prepared"]
    assert names(tmp_path / "prepared") == [NAME, f"{NAME}.lock", KEY_NAME, SEALS_NAME]


async def test_what_hides_a_memory_is_followed_when_ids_change(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    await memory.store("here", "already", scope=MEI)
    old, new = (
        MemoryEntry(number, key, key, "core", entry("").provenance, MEI, 1.0, 1.0)
        for number, key in ((1, "old"), (2, "new"))
    )

    async def coming() -> AsyncIterator[MemoryEntry | None]:
        yield replace(old, superseded_by=2)
        yield None
        yield new

    moved = await carry(coming(), memory, {})
    assert (moved.moved, moved.unreadable) == (2, 1)
    assert {one.key for one in await memory.list(MEI)} == {"here", "new"}
    [hidden] = [one async for one in memory.entries() if one.superseded_by is not None]
    shown = await memory.get("new", MEI)
    assert shown is not None
    assert (hidden.key, hidden.superseded_by) == ("old", shown.memory_id)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 1, 3), (2, 3, 1)])
async def test_a_chain_of_hidden_memories_keeps_all_its_links(
    make_memory: MakeMemory, order: tuple[int, ...]
) -> None:
    memory = make_memory(NoEmbedder())
    for number in range(5):
        await memory.store(f"here {number}", "already", scope=MEI)
    hides = {1: 2, 2: 3, 3: None}

    async def coming() -> AsyncIterator[MemoryEntry | None]:
        for number in order:
            one = MemoryEntry(
                number, f"k{number}", "x", "core", entry("").provenance, MEI, 1.0, 1.0
            )
            yield replace(one, superseded_by=hides[number])

    await carry(coming(), memory, {})
    held = {one.key: one async for one in memory.entries() if one.key.startswith("k")}
    assert held["k1"].superseded_by == held["k2"].memory_id
    assert held["k2"].superseded_by == held["k3"].memory_id
    assert held["k3"].superseded_by is None
