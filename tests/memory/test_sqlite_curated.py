"""Pinning, hiding, rebuilding and upkeep of the default store, through its seam."""

from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, Curated, Scope, StoreLimits, Tidied, Upkept
from agent.messages import Provenance
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder
from tests.memory.conftest import MakeMemory

OWNER, WEB = Provenance.OWNER, Provenance.WEB


async def test_what_is_hidden_is_not_found_and_comes_back(make_memory: MakeMemory) -> None:
    memory = make_memory(LetterEmbedder())
    await memory.store("home", "my sister lives in Taipei", scope=MEI)
    await memory.store("home2", "my sister lives in Osaka", scope=MEI)
    assert await memory.supersede("home", "home2", MEI)
    found = await memory.recall("where does my sister live", 5, MEI)
    assert [entry.key for entry in found] == ["home2"]
    assert await memory.revive("home", MEI)
    found = await memory.recall("where does my sister live", 5, MEI)
    assert {entry.key for entry in found} == {"home", "home2"}


async def test_a_source_is_forgotten_for_its_owner_alone(make_memory: MakeMemory) -> None:
    memory = make_memory(LetterEmbedder())
    page = "https://example.org/pump"
    for number in range(3):
        await memory.store(f"k{number}", f"pump {number}", scope=MEI, source=page)
    await memory.store("other", "pump of another page", scope=MEI, source="https://example.org/x")
    await memory.store("k0", "pump for all", scope=Scope(), source=page)
    assert await memory.forget_source(page, MEI) == 3
    assert {entry.key for entry in await memory.recall("pump", 9, MEI)} == {"other", "k0"}


async def test_a_word_index_that_lost_its_words_is_made_anew(make_memory: MakeMemory) -> None:
    memory = make_memory(LetterEmbedder())
    for number in range(5):
        await memory.store(f"k{number}", f"the pump number {number}", scope=MEI)
    await memory._brain.run(lambda db: db.execute("DELETE FROM memory_words"))
    await memory._brain.run(lambda db: db.execute("DELETE FROM memory_vectors"))
    assert await memory.rebuild() == 5
    words = await memory._brain.run(
        lambda db: db.execute("SELECT count(*) FROM memory_words('pump')").fetchone()
    )
    assert words == (5,)
    assert len(await memory.recall("pump", 9, MEI)) == 5


async def test_upkeep_prunes_merges_and_evicts_and_says_so(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    clock = memory._clock
    assert isinstance(clock, SteppedClock)
    await memory.store("old", "said long ago", category=CONVERSATION, scope=MEI)
    clock.advance(40 * 86_400)
    await memory.store("a", "The cat is called Lin", scope=MEI, provenance=OWNER)
    await memory.store("b", "the cat is called Lin.", scope=MEI, provenance=WEB)
    for number in range(5):
        await memory.store(f"page{number}", f"offer {number}", scope=MEI, provenance=WEB)
    tidied = await memory.tidy(StoreLimits(conversation_days=30, max_memories=4), clock.wall_s())
    assert tidied == Tidied(pruned=1, merged=1, evicted=3, is_sound=True)
    assert {entry.key for entry in await memory.list(MEI)} == {"a", "page2", "page3", "page4"}
    said = (await memory.stats()).details["upkeep"]
    assert said.endswith("1 pruned, 1 merged, 3 evicted; the database is whole")


async def test_marks_are_kept(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    stored = await memory.store("k", "content", scope=MEI)
    assert await memory.mark("k", MEI, pinned=True, importance=0.9)
    assert not await memory.mark("missing", MEI, pinned=True)
    expected = replace(stored, pinned=True, importance=0.9)
    assert await memory.get("k", MEI) == expected
    assert (await memory.stats()).pinned == 1


async def test_it_is_what_the_seams_ask_for(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    assert isinstance(memory, Curated)
    assert isinstance(memory, Upkept)
