import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Memory, Scope
from agent.messages import Provenance
from scripts.lib.bench import agents
from scripts.lib.bench.agents import Crowd
from tests.contracts.chronicled_memory import CHRONICLED
from tests.contracts.memory import KEEPING, MEI, TOM
from tests.fakes.embedders import LetterEmbedder, ReturningEmbedder
from tests.fakes.postgres import PostgresServer
from tests.memory.postgres.conftest import Open

Check = Callable[[Memory], Awaitable[None]]


@pytest.mark.parametrize("check", KEEPING, ids=lambda check: check.__name__)
async def test_it_does_what_every_backend_does(
    check: Check, server: PostgresServer, open_memory: Open
) -> None:
    await check(open_memory(server.fresh_url(), LetterEmbedder()))


@pytest.mark.parametrize("check", CHRONICLED, ids=lambda check: check.__name__)
async def test_it_tells_what_was_so_before_as_sqlite_does(
    check: Check, server: PostgresServer, open_memory: Open
) -> None:
    await check(open_memory(server.fresh_url(), NoEmbedder()))


async def test_two_agents_share_one_brain(server: PostgresServer, open_memory: Open) -> None:
    url = server.fresh_url()
    kitchen, barn = open_memory(url, LetterEmbedder()), open_memory(url, NoEmbedder())
    async with asyncio.TaskGroup() as tasks:
        # Both make the tables at the same moment
        for number in range(10):
            tasks.create_task(kitchen.store(f"k{number}", f"the hen laid {number}", scope=MEI))
            tasks.create_task(barn.store(f"b{number}", f"the cow gave {number}", scope=MEI))
    assert await kitchen.count(MEI) == await barn.count(MEI) == 20
    assert (await barn.recall("what did the hen lay?", 1, MEI))[0].content.startswith("the hen")
    assert await barn.forget("k0", MEI)
    assert await kitchen.get("k0", MEI) is None


async def test_the_same_key_from_two_agents_at_once_is_one_memory(
    server: PostgresServer, open_memory: Open
) -> None:
    url = server.fresh_url()
    agents = [open_memory(url, NoEmbedder()) for _ in range(3)]
    async with asyncio.TaskGroup() as tasks:
        for number in range(30):
            tasks.create_task(agents[number % 3].store("k", f"version {number}", scope=MEI))
    assert await agents[0].count() == 1


async def test_another_agents_people_stay_apart(server: PostgresServer, open_memory: Open) -> None:
    url = server.fresh_url()
    here, there = open_memory(url, NoEmbedder()), open_memory(url, NoEmbedder())
    await here.store("", "tom is allergic to penicillin", scope=TOM)
    assert await there.recall("penicillin", 5, MEI) == []
    assert len(await there.recall("penicillin", 5, TOM)) == 1


async def test_a_word_with_another_ending_or_a_slip_is_found_by_trigrams(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(debian_server.fresh_url(), NoEmbedder())
    await memory.store("", "mei was treated with penicillin", scope=MEI)
    await memory.store("", "the cat sleeps in the hay", scope=MEI)
    for asked in ("penicilin", "treats"):
        found = await memory.recall(asked, 1, MEI)
        assert [entry.content for entry in found] == ["mei was treated with penicillin"]
    assert (await memory.stats()).details["words"] == "by stems and trigrams (pg_trgm)"


async def test_without_trigrams_words_and_their_beginnings_are_found(
    pgvector_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(pgvector_server.fresh_url(), NoEmbedder())
    await memory.store("", "the boiler was repaired by Schneider", scope=MEI)
    await memory.store("", "the cat sleeps in the hay", scope=MEI)
    found = await memory.recall("who repair boilers? Schneid", 1, MEI)
    assert [entry.content for entry in found] == ["the boiler was repaired by Schneider"]
    assert (await memory.stats()).details["words"] == "by stems: no pg_trgm"


async def test_meaning_is_searched_where_there_is_pgvector(
    pgvector_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(pgvector_server.fresh_url(), LetterEmbedder())
    await memory.store("", "thunderstorm", scope=MEI)
    await memory.store("", "marmalade", scope=MEI)
    found = await memory.recall("understorms", 2, MEI)
    # No word of it is there
    assert found[0].content == "thunderstorm"
    assert (found[0].score or 0) > (found[1].score or 0)


async def test_what_was_stored_without_a_model_gets_its_vector_later(
    pgvector_server: PostgresServer, open_memory: Open
) -> None:
    embedder = ReturningEmbedder()
    memory = open_memory(pgvector_server.fresh_url(), embedder)
    await memory.store("", "thunderstorm", scope=MEI)
    embedder.is_there = True
    await memory.recall("anything", 1, MEI)
    assert memory._filling is not None
    await memory._filling
    assert [entry.content for entry in await memory.recall("understorms", 1, MEI)] == [
        "thunderstorm"
    ]


async def test_a_replaced_memory_is_not_found_by_what_it_meant(
    pgvector_server: PostgresServer, open_memory: Open
) -> None:
    url = pgvector_server.fresh_url()
    memory = open_memory(url, LetterEmbedder())
    await memory.store("k", "thunderstorm", scope=MEI)
    await open_memory(url, NoEmbedder()).store("k", "marmalade", scope=MEI)
    found = await memory.recall("understorm", 1, MEI)
    assert all((entry.score or 0) < 0.1 for entry in found)


async def test_a_restart_of_the_server_is_not_noticed(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(debian_server.fresh_url(), NoEmbedder())
    await memory.store("k", "content", scope=MEI)
    debian_server.stop()
    debian_server.start()
    assert await memory.forget("k", MEI)
    assert await memory.count() == 0


async def test_everything_is_counted(server: PostgresServer, open_memory: Open) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    kept = await memory.store("a", "one", scope=MEI, provenance=Provenance.OWNER)
    await memory.restore(replace(kept, key="b", memory_id=7, superseded_by=kept.memory_id))
    stats = await memory.stats()
    assert (stats.backend, stats.count, stats.superseded, stats.pinned) == ("postgres", 1, 1, 0)
    assert (stats.categories, stats.provenances) == ({"core": 1}, {Provenance.OWNER: 1})
    assert stats.size_bytes > 0


async def test_a_number_that_was_brought_along_is_not_given_twice(
    server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    first = await memory.store("a", "one", scope=MEI)
    await memory.restore(replace(first, key="b", memory_id=first.memory_id + 1))
    assert (await memory.store("c", "three", scope=MEI)).memory_id > first.memory_id + 1


async def test_texts_that_no_database_likes_come_back_as_they_were(
    server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    odd = "\x00 nul, \ue000 private, \ue0000 both\x00"
    await memory.store(odd, odd, category=odd, scope=Scope(odd, odd), source=odd)
    (kept,) = await memory.list(Scope(odd))
    assert (kept.key, kept.content, kept.category, kept.source) == (odd, odd, odd, odd)
    assert kept.scope == Scope(odd, odd)
    assert [entry async for entry in memory.entries()] == [kept]


async def test_a_rare_word_weighs_more_and_a_beginning_less(
    server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    for number in range(6):
        await memory.store("", f"the pump ran {number} times", scope=MEI)
    await memory.store("valve", "the valve of the pump", scope=MEI)
    await memory.store("valves", "the valves of the pump", scope=MEI)
    found = await memory.recall("pump valve", 3, MEI)
    assert [entry.key for entry in found[:2]] == ["valve", "valves"]
    assert (found[1].score or 0) > (found[2].score or 0)


async def test_many_agents_lose_double_and_show_nothing(server: PostgresServer) -> None:
    """Eight, and one that dies; `scripts/bench-memory --only agents` has a hundred."""
    url = Secret(server.fresh_url())
    seen = await asyncio.to_thread(agents.run, Crowd(8, 4, 1), server, url)
    assert seen.is_clean, seen.text()
    assert seen.kept >= 16
    assert seen.forgotten == 16
    assert seen.connections <= 9
