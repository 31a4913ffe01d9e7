"""A flipped bit in a text, an index or a vector: met, and mended from what is whole."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, CORE, MemoryEntry, StoreLimits
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.messages import Provenance
from tests.contracts.people import EVERYBODY, MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder

TEXT = "the spare key of the boiler room is under the third flower pot"
# Where a bit of it is flipped: inside a word, a capital letter, a space, the beginning
PLACES = (TEXT.index("boiler"), TEXT.index("third"), TEXT.index(" is "), 0)


async def stored(path: Path, *, snapshot: bool = True) -> MemoryEntry:
    memory = SqliteMemory(path, LetterEmbedder(), SteppedClock())
    for number in range(20):
        await memory.store(f"k{number}", f"fact number {number} of the house", scope=MEI)
    entry = await memory.store("key", TEXT, scope=MEI, provenance=Provenance.OWNER)
    if snapshot:
        await take_snapshot(memory, path.parent)
    await memory.aclose()
    return entry


def changed(path: Path, statement: str, values: Sequence[object] = ()) -> None:
    """As damage does it: nobody is told."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement, values)
        db.commit()


async def flip(path: Path, place: int, bit: int) -> None:
    """In the file, where the text stands behind its key; the word index has another copy."""
    content = await asyncio.to_thread(path.read_bytes)
    start = content.index(f"key{TEXT}".encode()) + len("key")
    damaged = bytearray(content)
    damaged[start + place] ^= 1 << bit
    await asyncio.to_thread(path.write_bytes, damaged)


@pytest.mark.parametrize("bit", [0, 5])
@pytest.mark.parametrize("place", PLACES)
async def test_a_flipped_bit_in_a_text_comes_back_from_the_snapshot(
    tmp_path: Path, place: int, bit: int
) -> None:
    path = tmp_path / "brain.db"
    entry = await stored(path)
    await flip(path, place, bit)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    assert await memory.get("key", MEI) != entry
    assert (await memory.tidy(StoreLimits(), entry.updated_at_s)).is_sound
    assert await memory.get("key", MEI) == entry
    found = await memory.recall("where is the spare key of the boiler room", 1, MEI)
    await memory.aclose()
    assert [one.content for one in found] == [TEXT]


@pytest.mark.parametrize(
    "damage",
    ["provenance = 'owmer'", "person = NULL", "person = 'mej'", "key = 'kex'", "source = 'x'"],
)
async def test_so_does_who_said_it_and_whose_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "brain.db"
    entry = await stored(path)
    changed(path, f"UPDATE memories SET {damage} WHERE key = 'key'")
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    inspected = await memory.inspect()
    assert inspected.texts == 1
    assert await memory.get("key", MEI) == entry
    assert await memory.get("key", EVERYBODY) is None
    await memory.aclose()


async def test_what_was_changed_since_the_snapshot_stays_changed(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await stored(path)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock(5.0))
    await memory.store("key", "the spare key is lost", scope=MEI)
    await memory.mark("k1", MEI, pinned=True)
    await memory.forget("k2", MEI)
    assert await memory.supersede("k3", "k4", MEI)
    before = [entry async for entry in memory.entries()]
    inspected = await memory.inspect()
    assert inspected == replace(inspected, texts=0, words=0, vectors=0, doubtful=())
    assert [entry async for entry in memory.entries()] == before
    await memory.aclose()


async def test_what_outlives_its_conversation_since_the_snapshot_still_does(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    said = await memory.store("said", TEXT, category=CONVERSATION, scope=MEI)
    page = await memory.store("page", "the pump is blue", scope=MEI, provenance=Provenance.WEB)
    await take_snapshot(memory, tmp_path)
    lasting = await memory.restore(replace(said, category=CORE))
    vouched = await memory.restore(replace(page, provenance=Provenance.OWNER))
    assert (await memory.inspect()).sentence == "2 memories are whole"
    assert await memory.get("said", MEI) == lasting
    assert await memory.get("page", MEI) == vouched
    await memory.aclose()


async def test_without_a_snapshot_a_damaged_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await stored(path, snapshot=False)
    await flip(path, PLACES[0], 0)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    inspected = await memory.inspect()
    await memory.aclose()
    assert inspected.doubtful == ("key",)
    assert "1 in doubt" in inspected.sentence


async def test_a_snapshot_from_elsewhere_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await stored(path)
    (tmp_path / "memory-seals").unlink()
    await flip(path, PLACES[0], 0)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    inspected = await memory.inspect()
    await memory.aclose()
    assert (inspected.texts, inspected.doubtful) == (0, ("key",))


async def test_words_that_are_missing_or_left_over_are_put_right(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await stored(path)
    changed(path, "DELETE FROM memory_words WHERE rowid = 21")
    changed(path, "UPDATE memory_words SET words = 'nothing' WHERE rowid = 3")
    changed(path, "INSERT INTO memory_words (rowid, words) VALUES (99, 'penicillin')")
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    assert await memory.recall("spare key", 1, MEI) == []
    inspected = await memory.inspect()
    assert (inspected.words, inspected.doubtful) == (3, ())
    assert (await memory.recall("spare key", 1, MEI))[0].key == "key"
    assert (await memory.inspect()).sentence == "21 memories are whole"
    await memory.aclose()


async def test_a_vector_that_no_model_made_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await stored(path)
    changed(path, "UPDATE memory_vectors SET vector = zeroblob(512) WHERE memory_id = 21")
    changed(path, "UPDATE memory_vectors SET vector = x'007e' WHERE memory_id = 20")
    memory = SqliteMemory(path, LetterEmbedder(), SteppedClock())
    assert (await memory.inspect()).vectors == 2
    await memory.recall("anything", 1, MEI)
    assert memory._meanings.filling is not None
    await memory._meanings.filling
    assert (await memory.stats()).details["vectors"].startswith("21 of ")
    await memory.aclose()
