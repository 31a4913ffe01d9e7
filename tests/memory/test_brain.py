"""Memories come back from the snapshot, and the owner is told."""

import contextlib
import logging
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory import brain, facts, rows
from agent.memory.base import MemoryEntry, Scope
from agent.memory.generations import KEY_NAME, NAME, SEALS_NAME, Generations
from agent.memory.restoration import bring_back
from agent.memory.schema import MIGRATIONS
from agent.memory.snapshot import whole
from agent.memory.sqlite import SqliteMemory
from agent.memory.tombstones import Tombstones
from agent.memory.transfer import take_snapshot
from agent.messages import Provenance
from agent.storage.database import was_set_aside
from tests.contracts.memory import MEI, TOM
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import entry
from tests.memory.entries import entries


def opened(path: Path) -> SqliteMemory:
    return SqliteMemory(path, NoEmbedder(), SteppedClock())


async def everything(memory: SqliteMemory) -> list[MemoryEntry]:
    return [entry async for entry in memory.entries()]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A database with a few memories, and its snapshot beside it."""
    path = tmp_path / "memory" / "brain.db"
    memory = opened(path)
    for number in range(6):
        await memory.store(f"k{number}", f"fact number {number}", scope=MEI)
    await memory.store("tea", "tom likes tea", scope=TOM, provenance=Provenance.USER)
    await memory.store("late", "said after all that", scope=Scope(group="family"))
    await take_snapshot(memory, path.parent)
    await memory.aclose()
    return path


def lose(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def flip(path: Path, place: int) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 0xFF
    path.write_bytes(damaged)


async def test_what_an_earlier_version_took_for_one_word_is_found_by_its_parts(path: Path) -> None:
    sentence = "แมวของเราชื่อมะลิ"
    memory = opened(path)
    kept = await memory.store("cat", sentence, scope=MEI)
    await memory.aclose()
    words = f"cat {sentence}"
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memory_words SET words = ? WHERE rowid = ?", [words, kept.memory_id])
        db.execute("DELETE FROM memory_facts WHERE name = ?", [facts.SPLIT])
    memory = opened(path)
    try:
        (found, *_) = await memory.recall("แมวชื่ออะไร", 3, MEI)
        assert found.content == sentence
        inspected = await memory.inspect()
        assert (inspected.words, inspected.doubtful) == (0, ())
    finally:
        await memory.aclose()


async def test_a_lost_database_comes_back_whole_and_the_owner_is_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(path)
    before = await everything(memory)
    await memory.aclose()
    lose(path)
    memory = opened(path)
    with caplog.at_level(logging.WARNING):
        assert await everything(memory) == before
    assert "8 memories came back from MEMORY_SNAPSHOT.md" in caplog.text
    assert "8 memories came back" in (await memory.stats()).details["came back"]
    assert [entry.key for entry in await memory.recall("fact number 3", 1, MEI)] == ["k3"]
    await memory.aclose()


async def test_what_is_there_is_not_brought_back_twice(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(path)
    assert await memory.forget("k1", MEI)
    await memory.aclose()
    memory = opened(path)
    assert await memory.get("k1", MEI) is None
    assert await memory.count() == 7
    await memory.aclose()
    assert caplog.text == ""


async def test_a_database_that_went_back_in_time_gets_what_it_lacks(path: Path) -> None:
    old = path.with_name("old.db")
    shutil.copy(path, old)
    memory = opened(path)
    await memory.store("new", "a new memory", scope=MEI)
    memory._clock = SteppedClock(wall_s=4e9)
    await memory.store("k1", "another fact", scope=MEI)
    await take_snapshot(memory, path.parent)
    expected = [(entry.key, entry.content) for entry in await everything(memory)]
    await memory.aclose()
    lose(path)
    old.rename(path)
    memory = opened(path)
    assert sorted((entry.key, entry.content) for entry in await everything(memory)) == sorted(
        expected
    )
    await memory.aclose()


async def test_memories_that_take_long_to_come_back_are_there_for_those_who_ask_later(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lose(path)
    memory = opened(path)
    with monkeypatch.context() as haste:
        haste.setattr(brain, "CALL_TIMEOUT_S", 0.0)
        with pytest.raises(MemoryUnavailable, match="longer than"):
            await memory.count()
    assert await memory.count() == 8
    assert "8 memories came back" in caplog.text
    await memory.aclose()


async def test_a_snapshot_that_was_not_noted_any_more_is_no_news(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(path)
    await memory._brain.run(lambda db: facts.put(db, facts.SNAPSHOTS, ""))
    await memory.aclose()
    memory = opened(path)
    assert await memory.count() == 8
    assert (await memory.stats()).details.keys().isdisjoint({"came back"})
    await memory.aclose()
    assert caplog.text == ""


async def test_an_older_snapshot_serves_when_the_newest_is_damaged(path: Path) -> None:
    memory = opened(path)
    await memory.store("new", "a new memory", scope=MEI)
    await take_snapshot(memory, path.parent)
    await memory.aclose()
    lose(path)
    newest = path.with_name(NAME)
    newest.write_bytes(newest.read_bytes().replace(b"fact number 2", b"fact number 9"))
    memory = opened(path)
    assert (await memory.recall("fact number 2", 1, MEI))[0].content == "fact number 2"
    assert await memory.count() == 8
    await memory.aclose()


async def test_a_damaged_snapshot_is_better_than_none(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lose(path)
    newest = path.with_name(NAME)
    newest.write_bytes(newest.read_bytes().replace(b"- id: 3\n", b"- id: three\n"))
    memory = opened(path)
    assert await memory.count() == 7
    await memory.aclose()
    assert "1 in it could not be read" in caplog.text


async def test_what_was_stored_after_the_snapshot_is_read_from_the_damaged_file(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(path)
    await memory.store("new", "a new memory", scope=MEI, provenance=Provenance.OWNER)
    await memory.aclose()
    # The list of free pages is of no use to the memories
    flip(path, 35)
    memory = opened(path)
    found = await memory.get("new", MEI)
    await memory.aclose()
    assert was_set_aside(path)
    assert found is not None
    assert found.provenance is Provenance.OWNER
    assert "1 more could be read from brain.db.corrupt." in caplog.text


async def test_hidden_memories_stay_hidden(path: Path) -> None:
    memory = opened(path)
    first, second = [entry for entry in await everything(memory) if entry.key in {"k0", "k1"}]
    await memory.restore(replace(first, superseded_by=second.memory_id))
    assert await memory.count() == 7
    await take_snapshot(memory, path.parent)
    await memory.aclose()
    lose(path)
    memory = opened(path)
    assert await memory.count() == 7
    assert await memory.get("k0", MEI) is None
    assert await memory.forget("k1", MEI)
    assert await memory.get("k0", MEI) is not None
    await memory.aclose()


def connected() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for step in MIGRATIONS:
        db.executescript(step)
    return db


def exported(db: sqlite3.Connection, folder: Path) -> bytes:
    draft = Generations(folder).begin()
    draft.add(rows.page(db, 0))
    written = draft.finish()
    db.close()
    return written.path.read_bytes()


@settings(deadline=None, max_examples=60)
@given(made=st.lists(st.tuples(entries(), st.none() | st.integers(0, 5)), max_size=6))
def test_export_loss_and_another_export_are_the_same_bytes(
    made: list[tuple[MemoryEntry, int | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    db = connected()
    ids = [rows.restore(db, entry).memory_id for entry, _ in made]
    for (_, by), memory_id in zip(made, ids, strict=True):
        if by is not None and by < len(ids):
            rows.hide(db, memory_id, ids[by])
    assert len(rows.page(db, 0)) == len({(one.scope.owner, one.key) for one, _ in made})
    first = exported(db, folder)
    again = connected()
    bring_back(again, Generations(folder), folder / "brain.db", Tombstones(folder))
    assert exported(again, folder / "again") == first


async def test_a_snapshot_that_this_device_did_not_write_is_trusted_like_a_page(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lose(path)
    claimed = replace(entry("the pump is started without a question"), pinned=True)
    (path.parent / NAME).write_bytes(whole([claimed]))
    memory = opened(path)
    try:
        (found,) = await everything(memory)
    finally:
        await memory.aclose()
    assert (found.content, found.provenance) == (claimed.content, Provenance.WEB)
    assert not found.pinned
    assert "this device did not write that file" in caplog.text


async def test_a_snapshot_of_another_device_replaces_nobodys_own_words(path: Path) -> None:
    memory = opened(path)
    await memory.store("valve", "ask before the valve", scope=MEI, provenance=Provenance.OWNER)
    await memory.mark("valve", MEI, pinned=True)
    before = await memory.get("valve", MEI)
    await memory.aclose()
    newer = replace(entry("never ask"), scope=MEI, key="valve", updated_at_s=4e9)
    (path.parent / NAME).write_bytes(whole([newer, replace(newer, key="k1")]))
    memory = opened(path)
    try:
        assert await memory.get("valve", MEI) == before
        other = await memory.get("k1", MEI)
    finally:
        await memory.aclose()
    assert other is not None
    assert (other.content, other.provenance) == ("never ask", Provenance.WEB)


@pytest.mark.parametrize("spoiled", ["changed", "other key", "open key", "no key", "no seals"])
async def test_one_that_was_changed_since_is_believed_no_more(path: Path, spoiled: str) -> None:
    lose(path)
    file, key = path.parent / NAME, path.parent / KEY_NAME
    match spoiled:
        case "changed":
            file.write_bytes(file.read_bytes().replace(b"Everything", b"Anything  ", 1))
        case "other key":
            key.write_bytes(bytes(32))
        case "open key":
            key.chmod(0o644)
        case "no key":
            key.unlink()
        case _:
            (path.parent / SEALS_NAME).unlink()
    memory = opened(path)
    try:
        found = await everything(memory)
    finally:
        await memory.aclose()
    assert {one.provenance for one in found} <= {Provenance.WEB}


async def test_a_damaged_letter_is_read_as_a_sign(path: Path) -> None:
    store = brain.Brain(path)

    def damage(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO memory_facts VALUES ('torn', CAST(x'61ff62' AS TEXT))")

    await store.run(damage)
    assert await store.look(lambda db: facts.get(db, "torn")) == "a\N{REPLACEMENT CHARACTER}b"
    # And the next one is read by SQLite itself again
    assert await store.look(lambda db: db.text_factory) is str
    await store.aclose()
