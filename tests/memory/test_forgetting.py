"""Forgetting, whatever happens to the database afterwards."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, CORE, Scope
from agent.memory.sqlite import SqliteMemory
from agent.memory.tombstones import Tombstones
from agent.memory.transfer import take_snapshot
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock

MEI, TOM = Scope("mei"), Scope("tom")


class Home:
    """A memory whose database may get lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SteppedClock()
        self.open()

    def open(self) -> None:
        self.memory = SqliteMemory(self.folder / "brain.db", NoEmbedder(), self.clock)

    async def tell(self, content: str, key: str = "", scope: Scope = MEI) -> str:
        made = await self.memory.store(key, content, scope=scope, provenance=Provenance.OWNER)
        return made.key

    async def restart(self, *, is_lost: bool) -> None:
        await self.memory.aclose()
        if is_lost:
            for path in self.folder.glob("brain.db*"):
                path.unlink()
        self.open()

    async def known(self, scope: Scope = MEI) -> set[str]:
        return {entry.content for entry in await self.memory.list(scope)}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path)
    yield made
    await made.memory.aclose()


async def test_a_lost_database_brings_nothing_back_that_was_forgotten(home: Home) -> None:
    key = await home.tell("the surprise party is on Saturday")
    await home.tell("the cat is called Lin")
    await take_snapshot(home.memory, home.folder)
    assert await home.memory.forget(key, MEI)
    await home.restart(is_lost=True)
    assert await home.known() == {"the cat is called Lin"}
    assert await home.memory.recall("surprise party", 5, MEI) == []


async def test_nor_does_a_snapshot_that_was_taken_meanwhile(home: Home) -> None:
    """It was written before the memory was forgotten, and nobody noted who wrote it."""
    key = await home.tell("the surprise party is on Saturday")
    await take_snapshot(home.memory, home.folder)
    await home.memory.forget(key, MEI)
    with closing(sqlite3.connect(home.folder / "brain.db")) as db:
        db.execute("DELETE FROM memory_facts WHERE name = 'snapshots'")
        db.commit()
    await home.restart(is_lost=False)
    assert await home.known() == set()


async def test_everything_of_a_source_stays_forgotten(home: Home) -> None:
    page = "https://example.org/tea"
    await home.memory.store("", "tea is good", scope=MEI, source=page)
    await take_snapshot(home.memory, home.folder)
    assert await home.memory.forget_source(page, MEI) == 1
    await home.restart(is_lost=True)
    assert await home.known() == set()


async def test_what_is_told_again_comes_back_from_the_next_snapshot(home: Home) -> None:
    key = await home.tell("the cat is called Lin")
    await home.memory.forget(key, MEI)
    home.clock.advance(-1000.0)
    await home.tell("the cat is called Lin")
    await take_snapshot(home.memory, home.folder)
    await home.restart(is_lost=True)
    assert await home.known() == {"the cat is called Lin"}


async def test_what_others_know_stays(home: Home) -> None:
    key = await home.tell("the cat is called Lin")
    await home.tell("the cat is called Lin", scope=TOM)
    await take_snapshot(home.memory, home.folder)
    await home.memory.forget(key, MEI)
    await home.restart(is_lost=True)
    assert await home.known(TOM) == {"the cat is called Lin"}


async def test_a_forget_that_was_cut_off_is_finished(home: Home) -> None:
    key = await home.tell("the cat is called Lin")
    await home.tell("the dog is called Bo")
    [lin] = [one for one in await home.memory.list(MEI) if one.key == key]
    await home.memory.aclose()
    Tombstones(home.folder).add([lin], home.clock.wall_s())
    home.open()
    assert await home.known() == {"the dog is called Bo"}


async def told(home: Home, content: str, category: str, source: str) -> str:
    made = await home.memory.store(
        "", content, category=category, scope=MEI, provenance=Provenance.OWNER, source=source
    )
    return made.key


async def test_the_message_of_a_forgotten_fact_is_forgotten(home: Home) -> None:
    await told(home, "By the way, my sister is called Mei", CONVERSATION, "chat")
    await told(home, "my brother is called Tom", CONVERSATION, "chat")
    fact = await told(home, "Sister is called Mei", CORE, "chat#1-2")
    await home.memory.forget(fact, MEI)
    assert await home.known() == {"my brother is called Tom"}


async def test_the_facts_of_a_forgotten_message_are_forgotten(home: Home) -> None:
    said = await told(home, "By the way, my sister is called Mei", CONVERSATION, "chat")
    await told(home, "Sister is called Mei", CORE, "chat#1-2")
    await told(home, "Sister is called Ana", CORE, "chat#3-4")
    await home.memory.forget(said, MEI)
    assert await home.known() == {"Sister is called Ana"}
