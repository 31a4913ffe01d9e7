"""What every backend that remembers lets somebody put in order: marked, hidden, looked after."""

from msgspec.structs import replace

from agent.memory.base import CONVERSATION, Catalogued, Curated, Memory, StoreLimits, Upkept
from agent.messages import Provenance
from tests.contracts.people import MEI, TOM


async def marks_what_is_to_stay(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    await memory.store("a", "one", scope=MEI)
    assert await memory.mark("a", MEI, pinned=True)
    assert await memory.mark("a", MEI, importance=0.75)
    assert not await memory.mark("a", TOM, pinned=False)
    marked = await memory.get("a", MEI)
    assert marked is not None
    assert (marked.pinned, marked.importance) == (True, 0.75)


async def hides_a_memory_behind_a_newer_one_on_the_same_subject(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    owner = Provenance.OWNER
    await memory.store("old", "my sister lives in Taipei", scope=MEI, provenance=owner)
    await memory.store("new", "my sister lives in Osaka", scope=MEI, provenance=owner)
    await memory.store("page", "my sister lives in Rome", scope=MEI, provenance=Provenance.WEB)
    assert not await memory.supersede("old", "page", MEI)
    assert await memory.supersede("old", "new", MEI)
    assert {entry.key for entry in await memory.recall("sister", 5, MEI)} == {"new", "page"}
    assert await memory.revive("old", MEI)
    assert not await memory.revive("old", MEI)
    assert len(await memory.recall("sister", 5, MEI)) == 3


async def hides_nothing_about_something_else(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    await memory.store("health", "User is allergic to penicillin", scope=MEI)
    await memory.store("taste", "User likes green tea", scope=MEI)
    assert not await memory.supersede("health", "taste", MEI)
    assert len(await memory.list(MEI)) == 2


async def makes_anew_what_it_can(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    await memory.store("a", "the goat is called Lin", scope=MEI)
    await memory.store("b", "the hen is called Ada", scope=TOM)
    assert await memory.rebuild() == 2
    assert [entry.key for entry in await memory.recall("goat", 5, MEI)] == ["a"]


async def brings_back_what_a_forgotten_one_had_hidden(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    await memory.store("old", "my sister lives in Taipei", scope=MEI)
    await memory.store("new", "my sister lives in Osaka", scope=MEI)
    assert await memory.supersede("old", "new", MEI)
    assert await memory.forget("new", MEI)
    assert [entry.key for entry in await memory.list(MEI)] == ["old"]


async def forgets_everything_from_a_source(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    page = "https://example.org/pump"
    for number in range(3):
        await memory.store(f"k{number}", f"pump {number}", scope=MEI, source=page)
    await memory.store("k", "pump of tom", scope=TOM, source=page)
    await memory.store("other", "pump", scope=MEI, source=f"{page}/2")
    assert await memory.forget_source(page, MEI) == 3
    assert {entry.key for entry in await memory.list(MEI)} == {"other"}
    assert await memory.count(TOM) == 1


async def looks_after_itself(memory: Memory) -> None:
    assert isinstance(memory, Upkept)
    owner = Provenance.OWNER
    said = await memory.store("talk", "hello", category=CONVERSATION, scope=MEI)
    await memory.restore(replace(said, updated_at_s=1.0))
    await memory.store("tea", "likes tea", scope=MEI, provenance=owner)
    await memory.store("tea2", "Likes tea.", scope=MEI, provenance=Provenance.WEB)
    await memory.store("tea3", "likes tea", scope=TOM, provenance=owner)
    for number in range(4):
        await memory.store(f"page{number}", f"page says {number}", scope=MEI)
    tidied = await memory.tidy(StoreLimits(conversation_days=30, max_memories=5), said.updated_at_s)
    assert (tidied.pruned, tidied.merged, tidied.evicted) == (1, 1, 2)
    # The duplicate went first, then the page's oldest; what people said stays
    assert {entry.key for entry in await memory.list(MEI)} == {"tea", "page1", "page2", "page3"}
    assert await memory.count(TOM) == 1


async def lists_what_is_pinned(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    assert isinstance(memory, Catalogued)
    for key, scope in (("a", MEI), ("b", MEI), ("c", TOM)):
        await memory.store(key, f"always {key}", scope=scope)
        assert await memory.mark(key, scope, pinned=True)
    assert await memory.mark("b", MEI, pinned=False)
    assert [entry.key for entry in await memory.pinned(MEI)] == ["a"]


async def tells_all_of_a_thing_from_the_beginning(memory: Memory) -> None:
    assert isinstance(memory, Catalogued)
    await memory.store("first", "the boiler is new", scope=MEI)
    await memory.store("tea", "green tea at noon", scope=MEI)
    await memory.store("last", "somebody has mended the boiler", scope=MEI)
    await memory.store("toms", "the boiler of Tom", scope=TOM)
    assert [entry.key for entry in await memory.about("the boiler", MEI)] == ["first", "last"]
    assert await memory.about("volcano", MEI) == []
    assert await memory.about("?", MEI) == []


async def says_what_a_forget_would_take(memory: Memory) -> None:
    assert isinstance(memory, Catalogued)
    await memory.store("tea", "green tea at noon", scope=MEI)
    assert [entry.key for entry in await memory.doomed("tea", MEI)] == ["tea"]
    assert await memory.doomed("tea", TOM) == []
    assert await memory.doomed("coffee", MEI) == []


CURATED = (
    lists_what_is_pinned,
    tells_all_of_a_thing_from_the_beginning,
    says_what_a_forget_would_take,
    marks_what_is_to_stay,
    hides_a_memory_behind_a_newer_one_on_the_same_subject,
    hides_nothing_about_something_else,
    makes_anew_what_it_can,
)
# Of those that can also forget
UPKEPT = (
    brings_back_what_a_forgotten_one_had_hidden,
    forgets_everything_from_a_source,
    looks_after_itself,
)
