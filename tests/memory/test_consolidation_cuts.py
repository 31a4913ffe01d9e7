"""Messages that are kept, and cuts of the power between."""

import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory import facts
from agent.memory.base import MemoryEntry
from agent.memory.sqlite import SqliteMemory
from agent.memory.tombstones import Tombstones
from tests.memory.test_consolidation import OWNER, GullibleProvider, Home


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path)
    yield made
    await made.memory.aclose()


def kept_in(path: Path) -> int | None:
    """Return the number of the last message, as another program finds it."""
    with closing(sqlite3.connect(path)) as db:
        return facts.kept_until(db)


async def test_what_a_power_cut_took_is_kept_again(home: Home) -> None:
    home.say("My sister is called Mei, by the way")
    await home.open(None).catch_up()
    await home.memory.aclose()
    before = (home.root / "brain.db").read_bytes()
    home.memory = SqliteMemory(home.root / "brain.db", NoEmbedder(), home.clock)
    home.say("My brother is called Tom, by the way")
    await home.open(None).catch_up()
    await home.memory.aclose()
    (home.root / "brain.db").write_bytes(before)
    home.memory = SqliteMemory(home.root / "brain.db", NoEmbedder(), home.clock)
    assert await home.open(None).keep() == 1
    assert set(await home.known()) == {
        "My sister is called Mei, by the way",
        "My brother is called Tom, by the way",
    }


async def test_a_message_is_on_disk_before_it_is_noted_as_forgotten(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut right after the note would have it told, and kept, once more."""
    seen: list[int | None] = []
    add = Tombstones.add

    def spying(self: Tombstones, entries: Iterable[MemoryEntry], now_s: float) -> None:
        seen.append(kept_in(home.root / "brain.db"))
        add(self, entries, now_s)

    monkeypatch.setattr(Tombstones, "add", spying)
    home.say("My sister is called Mei, by the way")
    await home.open(None).keep()
    [entry] = await home.memory.list(OWNER)
    assert await home.memory.forget(entry.key, OWNER)
    assert seen == [1]


async def test_what_a_full_disk_took_back_is_kept_with_the_next_message(home: Home) -> None:
    kept = home.open(None)
    home.say("My sister is called Mei, by the way")
    await kept.keep()
    home.say("My brother is called Tom, by the way")
    await kept.keep()
    await home.memory.forget_source("chat", OWNER)
    await home.memory.keep(1, ())
    home.say("My aunt is called Ana, by the way")
    assert await kept.keep() == 2
    assert len(await home.known()) == 2


async def test_a_message_and_what_it_closes_are_one_change(home: Home) -> None:
    """Its text, its time, the end of what it contradicts and its number come or go together."""
    kept = home.open(None)
    home.say("I live in Oslo", at_s=home.clock.wall_s() - 60)
    await kept.keep()
    await home.memory.store("dog", "The dog is called Rex", scope=OWNER)
    assert kept_in(home.root / "brain.db") == 1
    home.say("I moved to Bergen", at_s=home.clock.wall_s() - 30)
    await kept.keep()
    assert kept_in(home.root / "brain.db") == 1
    assert {one.content for one in await home.memory.list(OWNER)} == {
        "I moved to Bergen",
        "The dog is called Rex",
    }


async def test_no_fact_is_drawn_from_a_message_that_was_forgotten_meanwhile(home: Home) -> None:
    learning = home.open(GullibleProvider())
    home.say("I have epilepsy, by the way")
    home.say("My sister is called Mei, by the way")
    await learning.keep()
    entry = next(one for one in await home.memory.list(OWNER) if "epilepsy" in one.content)
    assert await home.memory.forget(entry.key, OWNER)
    home.say("Thanks for forgetting my illness")
    await learning.catch_up()
    known = {one.content for one in await home.memory.list(OWNER)}
    assert not [content for content in known if "epilepsy" in content]
    assert "Noted: My sister is called Mei, by the way" in known


async def test_without_its_file_nothing_that_was_forgotten_is_kept_again(home: Home) -> None:
    home.say("I have epilepsy, by the way")
    home.say("My sister is called Mei, by the way")
    await home.open(None).keep()
    entry = next(one for one in await home.memory.list(OWNER) if "epilepsy" in one.content)
    assert await home.memory.forget(entry.key, OWNER)
    (home.root / "consolidation.json").unlink()
    await home.open(GullibleProvider()).catch_up()
    assert not [one for one in await home.memory.list(OWNER) if "epilepsy" in one.content]
    assert "Noted: My sister is called Mei, by the way" in await home.known()
