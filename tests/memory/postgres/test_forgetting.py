"""Forgetting on a server: nothing of it stays in the tables, and no older copy brings it back."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.config import Secret
from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, CORE, Scope, StoreLimits
from agent.memory.postgres.memory import PostgresMemory
from agent.messages import Provenance
from tests.contracts.memory import MEI, TOM
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder
from tests.fakes.postgres import PGVECTOR, PostgresServer

OWNER = Provenance.OWNER
CHAT = Scope("mei", "family")
GROUP = Scope(None, "family", "family")
# More than a forget has
_MOST_STATEMENTS = 40
_TABLES = "SELECT coalesce(string_agg(m::text, ' '), '') FROM barnacle.memories m"
_READINGS = "SELECT count(*) FROM barnacle.memory_readings"
_VECTORS = "SELECT count(*) FROM barnacle.memory_vectors"


class Household:
    """An agent with a folder of its own; its database may be exchanged for an older one."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.clock = SteppedClock()
        self.database = server.fresh_url().rpartition("/")[2].partition("?")[0]
        self._opened: list[PostgresMemory] = []

    def open(self, folder: Path | None = None) -> PostgresMemory:
        url = Secret(self.server.url(self.database))
        made = PostgresMemory(url, LetterEmbedder(), self.clock, folder or self.folder)
        self._opened.append(made)
        return made

    async def aclose(self) -> None:
        for memory in self._opened:
            await memory.aclose()

    async def copied(self) -> str:
        """Return the name of a copy of the database; nobody is connected then."""
        await self.aclose()
        copy = f"{self.database}_old"
        self.server.sql(f"CREATE DATABASE {copy} TEMPLATE {self.database}")
        return copy

    def asked(self, statement: str) -> str:
        return self.server.sql(statement, self.database)

    def indexed(self) -> list[int]:
        """Return the numbers of readings and of vectors."""
        tables = [_READINGS, *([_VECTORS] if self.server.kind == PGVECTOR else [])]
        return [int(self.asked(table)) for table in tables]


@pytest.fixture
async def home(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Household]:
    made = Household(server, tmp_path / "postgres")
    yield made
    await made.aclose()


async def tell_of_the_party(memory: PostgresMemory) -> str:
    """Tell a fact, its message, and what the person's group heard; return the key of the fact."""
    said = "By the way, the surprise party is on Saturday"
    for scope in (CHAT, GROUP):
        await memory.store("", said, category=CONVERSATION, scope=scope, provenance=OWNER)
    fact = await memory.store(
        "", "Surprise party is on Saturday", scope=MEI, provenance=OWNER, source="chat#1-2"
    )
    return fact.key


async def test_no_table_has_a_forgotten_fact_its_message_or_their_index(home: Household) -> None:
    memory = home.open()
    await memory.store("", "the cat is called Lin", scope=MEI, provenance=OWNER)
    key = await tell_of_the_party(memory)
    assert "surprise" in home.asked(_TABLES)
    assert all(number == 4 for number in home.indexed())
    assert await memory.forget(key, MEI)
    assert "urpris" not in home.asked(_TABLES)
    assert all(number == 1 for number in home.indexed())


async def test_what_closed_a_pruned_truth_loses_its_words(home: Household) -> None:
    memory = home.open()
    for content, category in (("I live in Oslo", CONVERSATION), ("I moved to Bergen", CORE)):
        made = await memory.store("", content, category=category, scope=MEI, provenance=OWNER)
        await memory.settle(made)
        home.clock.advance(20 * 86_400)
    assert "oslo" in home.asked(_TABLES)
    limits = StoreLimits(conversation_days=30)
    assert (await memory.tidy(limits, home.clock.wall_s())).pruned == 1
    assert "oslo" not in home.asked(_TABLES).casefold()


async def test_an_older_copy_of_the_server_brings_nothing_back(home: Household) -> None:
    memory = home.open()
    await memory.store("", "the cat is called Lin", scope=MEI, provenance=OWNER)
    await memory.store("", "the tea is good", scope=MEI, source="https://example.org/tea")
    key = await tell_of_the_party(memory)
    await memory.store("toms", "Surprise party is on Saturday", scope=TOM, provenance=OWNER)
    older = await home.copied()
    memory = home.open()
    assert await memory.forget(key, MEI)
    assert await memory.forget_source("https://example.org/tea", MEI) == 1
    home.database = older
    memory = home.open()
    assert [one.content for one in await memory.list(MEI)] == ["the cat is called Lin"]
    assert await memory.list(Scope(group="family")) == []
    assert [one.key for one in await memory.list(TOM)] == ["toms"]


async def test_what_an_earlier_version_took_for_one_word_is_found_by_its_parts(
    home: Household,
) -> None:
    sentence = "แมวของเราชื่อมะลิ"
    await home.open().store("cat", sentence, scope=MEI)
    await home.aclose()
    home.asked(f"UPDATE barnacle.memories SET words = ' {sentence} '")
    home.asked("DROP TABLE barnacle.memory_facts")
    home.asked("DELETE FROM barnacle.migrations WHERE done = 3")
    (found, *_) = await home.open().recall("แมวชื่ออะไร", 3, MEI)
    assert found.content == sentence
    assert "แมว" in home.asked("SELECT words FROM barnacle.memories").split()


async def test_what_is_told_again_lives(home: Household) -> None:
    memory = home.open()
    made = await memory.store("", "the cat is called Lin", scope=MEI, provenance=OWNER)
    assert await memory.forget(made.key, MEI)
    # By a clock that has been set back meanwhile
    home.clock.advance(-1000.0)
    await memory.store("", "the cat is called Lin", scope=MEI, provenance=OWNER)
    await memory.aclose()
    home.asked("DELETE FROM barnacle.memory_facts")
    assert [one.key for one in await home.open().list(MEI)] == [made.key]


async def test_what_another_agent_forgot_stays_its_own_knowledge(
    home: Household, tmp_path: Path
) -> None:
    key = await tell_of_the_party(home.open())
    older = await home.copied()
    assert await home.open(tmp_path / "barn").forget(key, MEI)
    home.database = older
    # Nobody tells this agent, until the other one comes back
    assert len(await home.open().list(MEI)) == 2
    assert await home.open(tmp_path / "barn").list(MEI) == []


async def test_without_room_for_its_tombstone_nothing_is_forgotten(
    home: Household, tmp_path: Path
) -> None:
    memory = home.open()
    key = await tell_of_the_party(memory)
    home.folder.write_text("no folder")
    with pytest.raises(MemoryUnavailable):
        await memory.forget(key, MEI)
    assert len(await home.open(tmp_path / "barn").list(MEI)) == 2


async def test_a_connection_that_is_cut_anywhere_leaves_a_forget_whole_or_untouched(
    home: Household,
) -> None:
    untouched = whole = 0
    for statements in range(_MOST_STATEMENTS):
        memory = home.open()
        key = await tell_of_the_party(memory)
        if await forgets_before_the_cut(memory, home, key, statements):
            break
        # By the next call, on a connection of its own
        left = await memory.list(MEI)
        assert len(left) in {0, 2}
        assert len(await memory.list(Scope(group="family"))) == len(left) / 2
        assert all(number in {0, 3} for number in home.indexed())
        untouched += len(left) == 2
        whole += not left
        await memory.aclose()
    assert untouched >= 2
    assert whole >= 2


async def forgets_before_the_cut(
    memory: PostgresMemory, home: Household, key: str, statements: int
) -> bool:
    """Cut the connection before a statement; return true if the forget has fewer."""
    connection: Any = memory._server._connection
    execute, left = connection.execute, statements
    pid = connection.info.backend_pid

    async def cut(*asked: Any) -> Any:
        nonlocal left
        if left == 0:
            home.server.sql(f"SELECT pg_terminate_backend({pid})")
        left -= 1
        return await execute(*asked)

    connection.execute = cut
    try:
        return await memory.forget(key, MEI)
    except MemoryUnavailable:
        return False
    finally:
        connection.execute = execute
