"""Power cuts, full and read-only disks, and files that are not what was written."""

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.storage.database import was_set_aside
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock
from tests.memory.conftest import MakeMemory

KILLS = 20
# Acknowledged stores before a kill: each kill meets another moment of a commit
STORES_BEFORE_KILL = (3, 11)
PAGE_BYTES = 4096
# Each takes a few seconds
PARTS = 3
_STORER = """
import asyncio, sys
from pathlib import Path
from agent.system.clock import SystemClock
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory

async def main():
    memory = SqliteMemory(Path(sys.argv[1]), NoEmbedder(), SystemClock())
    number = await memory.count()
    while True:
        await memory.store(f"k{number}", f"fact number {number}", scope=Scope("mei"))
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


# Stores while no file may grow beyond a limit, which is to it what a full disk is
_STORER_ON_A_FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from agent.system.clock import SystemClock
from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable, StorageFull
from agent.memory.base import Scope
from agent.memory.generations import Generations
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot

MEI = Scope("mei")

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def stored(memory, number):
    try:
        await memory.store(f"k{number}", f"fact number {number} " + "word " * 300, scope=MEI)
    except MemoryUnavailable:
        return False
    return True

async def snapshot_taken(memory, folder):
    try:
        await take_snapshot(memory, folder)
    except (StorageFull, MemoryUnavailable):
        return False
    return True

async def main():
    folder = Path(sys.argv[1])
    memory = SqliteMemory(folder / "brain.db", NoEmbedder(), SystemClock())
    kept, refused, taken = set(), 0, 0
    for number in range(100):
        # From nothing to more than one store needs beyond what the log of writes has
        log = folder / "brain.db-wal"
        limit((log.stat().st_size if log.exists() else 0) + number * 2_000 % 50_000)
        if await stored(memory, number):
            kept.add(f"k{number}")
        else:
            refused += 1
        taken += await snapshot_taken(memory, folder)
        limit(resource.RLIM_INFINITY)
        assert {entry.key for entry in await memory.list(MEI, limit=1000)} == kept, number
        assert all(one.is_whole() for one in Generations(folder).every()), number
    assert await memory.health_check()
    await memory.aclose()
    print(len(kept), refused, taken)

asyncio.run(main())
"""


def store_until_killed(path: Path, stores: int) -> int:
    """The number of the last memory that was acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", _STORER, str(path)], stdout=subprocess.PIPE, text=True
    ) as storer:
        assert storer.stdout is not None
        acknowledged = [int(storer.stdout.readline()) for _ in range(stores)]
        storer.send_signal(signal.SIGKILL)
        # The last line may have been cut
        acknowledged += [int(number) for number in storer.stdout.read().split()[:-1]]
    return acknowledged[-1]


async def test_no_acknowledged_memory_is_lost_when_the_agent_is_killed(path: Path) -> None:
    least, most = STORES_BEFORE_KILL
    for kill in range(KILLS):
        last = store_until_killed(path, least + kill % (most - least))
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    stored = {entry.key for entry in await memory.list(MEI, limit=10_000)}
    found = {entry.key for entry in await memory.recall("fact number", 10_000, MEI)}
    await memory.aclose()
    assert stored >= {f"k{number}" for number in range(last + 1)}
    # The best fifty by words: all of them are there to be found
    assert found
    assert found <= stored
    assert was_set_aside(path) == []


async def test_a_full_disk_is_said_and_nothing_is_lost(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    await memory.store("k", "my sister is called Mei", scope=MEI)
    # A limit on pages is to SQLite what a full disk is
    (pages,) = await memory._brain.run(lambda db: db.execute("PRAGMA page_count").fetchone())
    await memory._brain.run(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchall())
    with pytest.raises(MemoryUnavailable, match="full"):
        await store_much(memory)
    assert (await memory.recall("sister", 5, MEI))[0].key == "k"
    await memory._brain.run(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchall())
    await memory.store("again", "there is room again", scope=MEI)
    assert await memory.get("again", MEI) is not None
    assert {entry.key for entry in await memory.recall("word room sister", 99, MEI)} == {
        entry.key for entry in await memory.list(MEI)
    }


def test_whatever_write_meets_a_full_disk_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STORER_ON_A_FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept, refused, taken = map(int, done.stdout.split())
    assert min(kept, refused, taken) > 10


async def store_much(memory: SqliteMemory) -> None:
    for number in range(50):
        await memory.store(f"more{number}", "word " * 1000, scope=MEI)


async def test_a_read_only_disk_is_said(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    await memory.store("k", "my sister is called Mei", scope=MEI)
    await memory._brain.run(lambda db: db.execute("PRAGMA query_only = ON"))
    with pytest.raises(MemoryUnavailable, match="readonly"):
        await memory.store("more", "content", scope=MEI)
    assert not await memory.health_check()
    # What is known is still known
    assert [entry.key for entry in await memory.recall("sister", 5, MEI)] == ["k"]
    assert await memory.count(MEI) == len(await memory.list(MEI)) == 1


async def test_half_a_character_is_refused_and_sets_nothing_aside(
    make_memory: MakeMemory, path: Path
) -> None:
    memory = make_memory(NoEmbedder())
    stored = await memory.store("k", "my sister is called Mei", scope=MEI)
    for _ in range(3):
        with pytest.raises(MemoryUnavailable):
            await memory.restore(replace(stored, category="\ud800"))
    assert await memory.list(MEI) == [stored]
    assert was_set_aside(path) == []


async def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    memory = SqliteMemory(tmp_path / "file" / "brain.db", NoEmbedder(), SteppedClock())
    with pytest.raises(MemoryUnavailable, match="file"):
        await memory.store("k", "content", scope=MEI)
    assert not await memory.health_check()
    (tmp_path / "file").unlink()
    await memory.store("k", "content", scope=MEI)
    assert await memory.health_check()
    await memory.aclose()


@pytest.fixture
async def sound(tmp_path: Path) -> Path:
    """A database of a few memories."""
    path = tmp_path / "sound" / "brain.db"
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    for number in range(40):
        words = " ".join(f"w{number * other}" for other in range(30))
        await memory.store(f"k{number}", f"fact {number} {words}", scope=MEI)
    await memory.aclose()
    return path


def damaged_versions(
    whole: bytes, places: Sequence[int] = (0, 5, 9, 2000, 4090)
) -> Iterator[tuple[str, bytes]]:
    for place in (0, 18, 19, 47, 60):
        yield f"header {place}", flipped(whole, place)
    for page in range(len(whole) // PAGE_BYTES):
        start = page * PAGE_BYTES
        for place in places:
            yield f"page {page} byte {place}", flipped(whole, start + place)
        yield f"page {page} zero", (whole[:start] + bytes(PAGE_BYTES) + whole[start + PAGE_BYTES :])
    for length in (0, 1, 99, 512, 4095, 4096, len(whole) // 2, len(whole) - 1):
        yield f"cut at {length}", whole[:length]
    yield "text", b"this was never a database\n" * 400


def flipped(whole: bytes, place: int) -> bytes:
    damaged = bytearray(whole)
    damaged[place] ^= 0xFF
    return bytes(damaged)


async def test_whatever_is_damaged_the_memory_works_again(sound: Path, tmp_path: Path) -> None:
    whole = await asyncio.to_thread(sound.read_bytes)
    # Every place is met in the test that has a snapshot
    for number, (what, content) in enumerate(damaged_versions(whole, places=(0, 2000))):
        path = tmp_path / f"{number}" / "brain.db"
        path.parent.mkdir()
        path.write_bytes(content)
        assert await works_within(3, path), what
        shutil.rmtree(path.parent)


@pytest.fixture
async def kept(sound: Path) -> Path:
    """The snapshot of that database."""
    memory = SqliteMemory(sound, NoEmbedder(), SteppedClock())
    written = await take_snapshot(memory, sound.parent)
    await memory.aclose()
    return written.path


@pytest.mark.parametrize("part", range(PARTS))
async def test_whatever_is_damaged_the_memories_come_back_and_the_owner_is_told(
    part: int, kept: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = await asyncio.to_thread(kept.with_name("brain.db").read_bytes)
    came_back = 0
    for number, (what, content) in enumerate(islice(damaged_versions(whole), part, None, PARTS)):
        path = tmp_path / f"{number}" / "brain.db"
        path.parent.mkdir()
        path.write_bytes(content)
        shutil.copy(kept, path.parent)
        caplog.clear()
        found = await numbers_after(3, path)
        if was_set_aside(path) or not content:
            assert found >= set(range(40)), what
            # All of them may have been read from the damaged file itself
            told = ("40 memories came back from MEMORY_SNAPSHOT.md", "moved to a new database")
            assert any(sentence in caplog.text for sentence in told), what
            came_back += 1
        # A letter of one memory may have changed, which no database notices
        assert len(found & set(range(40))) >= 39, what
        shutil.rmtree(path.parent)
    assert came_back > 10


async def numbers_after(attempts: int, path: Path) -> set[int]:
    """The facts that are remembered after at most so many plain refusals."""
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    try:
        for _ in range(attempts):
            try:
                await memory.store("fresh", "a fresh memory about tea", scope=MEI)
                listed = await memory.list(MEI, limit=1000)
            except MemoryUnavailable:
                continue
            facts = (entry.content.split() for entry in listed)
            return {int(words[1]) for words in facts if words[0] == "fact" and words[1].isdigit()}
    finally:
        await memory.aclose()
    return set()


async def test_a_deleted_log_of_writes_costs_nothing_that_a_snapshot_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, copy = tmp_path / "brain.db", tmp_path / "copy" / "brain.db"
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    for number in range(5):
        await memory.store(f"k{number}", f"fact number {number}", scope=MEI)
    written = await take_snapshot(memory, tmp_path)
    copy.parent.mkdir()
    # As it is on the disk while the agent works, without `brain.db-wal`
    for file in (path, written.path):
        shutil.copy(file, copy.parent)
    await memory.aclose()
    memory = SqliteMemory(copy, NoEmbedder(), SteppedClock())
    assert await memory.count() == 5
    await memory.aclose()
    assert "5 memories came back from MEMORY_SNAPSHOT.md" in caplog.text


async def works_within(attempts: int, path: Path) -> bool:
    """Whether storing and finding work after at most so many plain refusals."""
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    try:
        for _ in range(attempts):
            try:
                await memory.store("fresh", "a fresh memory about tea", scope=MEI)
                found = await memory.recall("fresh tea", 99, MEI)
                await memory.recall("fact w12", 5, MEI)
                await memory.list(MEI)
            except MemoryUnavailable:
                continue
            return "fresh" in {entry.key for entry in found}
    finally:
        await memory.aclose()
    return False


async def test_a_broken_word_index_costs_no_memory(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    shutil.copy(sound, path)
    broken = sqlite3.connect(path)
    broken.execute("UPDATE memory_words_data SET block = x'00'")
    broken.commit()
    broken.close()
    assert await works_within(3, path)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    kept = {entry.key for entry in await memory.list(MEI, limit=1000)}
    found = await memory.recall("fact", 1000, MEI)
    await memory.aclose()
    assert kept >= {f"k{number}" for number in range(40)}
    assert len(found) == 40


async def test_a_damaged_letter_costs_only_itself(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    shutil.copy(sound, path)
    broken = sqlite3.connect(path)
    broken.execute("UPDATE memories SET content = CAST(x'66C361' AS TEXT) WHERE key = 'k1'")
    broken.commit()
    broken.close()
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    found = await memory.get("k1", MEI)
    await memory.aclose()
    assert found is not None
    assert found.content == "f\N{REPLACEMENT CHARACTER}a"
