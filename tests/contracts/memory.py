"""What every backend of long-term memory does, whatever keeps its memories.

`EVERY_BACKEND` holds for one that keeps nothing too, `APPENDING` for those that remember, and
`KEEPING` for those that can also forget.
"""

import asyncio

import pytest
from msgspec.structs import replace

from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, CORE, DAILY, Memory, MemoryEntry, Scope
from agent.messages import Provenance
from tests.contracts.curated_memory import CURATED, UPKEPT
from tests.contracts.people import EVERYBODY, MEI, TOM

__all__ = ["APPENDING", "EVERYBODY", "EVERY_BACKEND", "KEEPING", "MEI", "TOM"]


# What no query language may see as its own
HOSTILE_TEXTS = (
    '"',
    '""" OR 1=1 --',
    "NEAR(a b, 2)",
    "a AND OR NOT",
    "content:secret*",
    "(unbalanced",
    "'; DROP TABLE memories; --",
    "^start -minus +plus {a b}",
    "%_\\",
    "\x00 nul \x1b[31m",
    "\ud800 half a surrogate",
    "🙂🙂",
    "x" * 5000,
    "word " * 500,
    "\u202eabc\u200b",
)


async def starts_empty(memory: Memory) -> None:
    assert await memory.count() == 0
    assert await memory.list(MEI) == []
    assert await memory.recall("anything", 5, MEI) == []
    assert await memory.recall("*", 5, MEI) == []
    assert await memory.health_check()


async def knows_nothing_of_a_key_that_was_never_stored(memory: Memory) -> None:
    assert await memory.get("missing", MEI) is None
    assert not await memory.forget("missing", MEI)


async def takes_any_text(memory: Memory) -> None:
    for text in HOSTILE_TEXTS:
        await memory.store("", text, scope=MEI)
        await memory.store(text[:100], "content", scope=MEI)
        await memory.recall(text, 5, MEI)
        await memory.get(text[:100], MEI)
        await memory.forget(text[:100], MEI)
    assert await memory.health_check()


async def returns_what_was_stored(memory: Memory) -> None:
    scope = Scope("mei", "terminal")
    stored = await memory.store(
        "sister", "My sister is Mei.", category=DAILY, scope=scope, provenance=Provenance.USER
    )
    assert (stored.key, stored.content, stored.category) == ("sister", "My sister is Mei.", DAILY)
    assert (stored.scope, stored.provenance) == (scope, Provenance.USER)
    assert stored.score is None
    assert await memory.get("sister", MEI) == stored
    assert await memory.list(MEI) == [stored]


async def trusts_least_what_comes_without_a_source(memory: Memory) -> None:
    stored = await memory.store("k", "content", scope=MEI)
    assert stored.provenance is Provenance.WEB
    assert stored.category == CORE


async def replaces_the_same_key_and_keeps_its_id(memory: Memory) -> None:
    first = await memory.store("k", "the old word", scope=MEI, provenance=Provenance.OWNER)
    second = await memory.store("k", "the new word", scope=MEI, provenance=Provenance.WEB)
    assert second.memory_id == first.memory_id
    assert second.created_at_s == first.created_at_s
    assert second.provenance is Provenance.WEB
    assert await memory.count() == 1
    assert [entry.content for entry in await memory.recall("word", 5, MEI)] == ["the new word"]


async def makes_a_key_from_the_content_when_none_is_given(memory: Memory) -> None:
    first = await memory.store("", "The cat is called Lin", scope=MEI)
    again = await memory.store("", "the cat is called Lin.", scope=MEI)
    other = await memory.store("", "The dog is called Lin", scope=MEI)
    assert "cat" in first.key
    assert first.memory_id == again.memory_id
    assert other.key != first.key


async def finds_what_fits_and_scores_it(memory: Memory) -> None:
    await memory.store("", "my sister is called Mei", scope=MEI)
    await memory.store("", "the boiler was repaired in March", scope=MEI)
    found = await memory.recall("what is my sister called?", 5, MEI)
    assert found[0].content == "my sister is called Mei"
    scores = [entry.score for entry in found]
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: score or 0, reverse=True)


async def never_returns_more_than_the_limit(memory: Memory) -> None:
    for number in range(8):
        await memory.store("", f"the cat has {number} kittens", scope=MEI)
    assert len(await memory.recall("cat", 3, MEI)) == 3
    assert len(await memory.recall("*", 3, MEI)) == 3
    assert len(await memory.list(MEI, limit=3)) == 3
    assert await memory.recall("cat", 0, MEI) == []
    assert await memory.list(MEI, limit=-1) == []


async def lists_the_newest_when_nothing_is_asked(memory: Memory) -> None:
    contents = [f"fact {number}" for number in range(4)]
    for content in contents:
        await memory.store("", content, scope=MEI)
    for nothing in ("", "  ", "*"):
        found = await memory.recall(nothing, 3, MEI)
        assert [entry.content for entry in found] == contents[:0:-1]


async def keeps_people_apart(memory: Memory) -> None:
    await memory.store("secret", "mei likes green tea", scope=MEI)
    await memory.store("secret", "tom likes black tea", scope=TOM)
    assert [entry.content for entry in await memory.recall("likes tea", 5, TOM)] == [
        "tom likes black tea"
    ]
    assert [entry.content for entry in await memory.list(MEI)] == ["mei likes green tea"]
    found = await memory.get("secret", TOM)
    assert found is not None
    assert found.content == "tom likes black tea"
    assert await memory.recall("likes tea", 5, EVERYBODY) == []
    assert await memory.count(MEI) == await memory.count(TOM) == 1


async def forgets_only_ones_own(memory: Memory) -> None:
    await memory.store("secret", "mei likes green tea", scope=MEI)
    await memory.store("secret", "tom likes black tea", scope=TOM)
    assert await memory.forget("secret", TOM)
    assert await memory.count(MEI) == 1
    assert await memory.count(TOM) == 0


async def keeps_groups_and_devices_apart(memory: Memory) -> None:
    family, club = Scope(group="family"), Scope(group="club")
    await memory.store("meeting", "the family meets on sunday", scope=family)
    await memory.store("meeting", "the chess club meets on friday", scope=club)
    await memory.store("pin", "the pump hangs on PB0", scope=Scope(device="barn"))
    at_table = Scope("mei", group="family", device="barn")
    assert {entry.key for entry in await memory.list(at_table)} == {"meeting", "pin"}
    found = await memory.get("meeting", at_table)
    assert found is not None
    assert found.content == "the family meets on sunday"
    assert await memory.recall("meets", 5, MEI) == []
    assert await memory.count(club) == 1


async def follows_a_person_from_chat_to_chat(memory: Memory) -> None:
    in_group = Scope("mei", "telegram_family", group="family")
    await memory.store("allergy", "mei is allergic to penicillin", scope=in_group)
    for elsewhere in (Scope("mei", "signal"), Scope("mei", "telegram_club", group="club")):
        found = await memory.recall("allergic to penicillin", 5, elsewhere)
        assert [entry.key for entry in found] == ["allergy"]
    for another in (Scope("tom", "telegram_family", group="family"), Scope(group="family")):
        assert await memory.recall("allergic to penicillin", 5, another) == []
        assert await memory.get("allergy", another) is None


async def gives_and_takes_everything_with_every_field(memory: Memory) -> None:
    shown = await memory.store("new", "the shown one", scope=MEI)
    scope = Scope("mei", "telegram", "family", "barn")
    odd = "two\n\n  lines\n- **x**: y\n```\n<!-- barnacle {} -->\n\t\x00 end  \n"
    brought = MemoryEntry(
        shown.memory_id + 40,
        "old * key\n",
        odd,
        "a category",
        Provenance.SENSOR,
        scope,
        1.25,
        1_700_000_000.5,
        importance=0.75,
        pinned=True,
        superseded_by=shown.memory_id,
        source="https://example.org/?a=1&b=-->",
    )
    assert await memory.restore(brought) == brought
    assert [entry async for entry in memory.entries()] == [shown, brought]
    # The same again changes nothing
    assert await memory.restore(brought) == brought
    assert await memory.list(replace(scope, session=None)) == [shown]
    revived = replace(brought, superseded_by=None)
    assert await memory.restore(revived) == revived
    assert await memory.get(brought.key, scope) == revived


async def gives_a_number_of_its_own_where_one_is_taken(memory: Memory) -> None:
    here = await memory.store("a", "one", scope=MEI)
    put = await memory.restore(replace(here, key="b", content="two"))
    assert put.memory_id != here.memory_id
    assert replace(put, memory_id=0) == replace(here, memory_id=0, key="b", content="two")
    assert await memory.get("a", MEI) == here


async def counts_what_it_keeps(memory: Memory) -> None:
    kept = await memory.store("a", "one", category=DAILY, scope=MEI, provenance=Provenance.OWNER)
    await memory.restore(
        replace(kept, memory_id=kept.memory_id + 1, key="b", superseded_by=kept.memory_id)
    )
    await memory.restore(
        replace(kept, memory_id=kept.memory_id + 2, key="c", pinned=True, category=CORE)
    )
    stats = await memory.stats()
    assert (stats.backend, stats.count, stats.superseded, stats.pinned) == (memory.name, 2, 1, 1)
    assert stats.categories == {DAILY: 1, CORE: 1}
    assert stats.provenances == {Provenance.OWNER: 2}
    assert stats.size_bytes > 0


async def shares_what_belongs_to_everybody(memory: Memory) -> None:
    await memory.store("wifi", "the wifi is called barn", scope=EVERYBODY)
    for scope in (MEI, TOM, EVERYBODY):
        found = await memory.recall("wifi", 5, scope)
        assert [entry.key for entry in found] == ["wifi"]
        assert await memory.get("wifi", scope) == (await memory.list(scope))[0]
    own = await memory.store("wifi", "my own wifi is called nest", scope=MEI)
    assert await memory.get("wifi", MEI) == own
    assert not await memory.forget("wifi", TOM)
    assert await memory.count() == 2


async def narrows_a_list_by_session_and_category(memory: Memory) -> None:
    here, there = Scope("mei", "terminal"), Scope("mei", "telegram")
    await memory.store("a", "said here", scope=here, category=CONVERSATION)
    await memory.store("b", "said there", scope=there, category=DAILY)
    assert [entry.key for entry in await memory.list(here)] == ["a"]
    assert [entry.key for entry in await memory.list(MEI)] == ["b", "a"]
    assert [entry.key for entry in await memory.list(MEI, DAILY)] == ["b"]
    assert len(await memory.recall("said", 5, here)) == 2
    assert len(await memory.recall("*", 5, here)) == 2


async def forgets_for_good(memory: Memory) -> None:
    await memory.store("k", "the cat is called Lin", scope=MEI)
    assert await memory.forget("k", MEI)
    assert not await memory.forget("k", MEI)
    assert await memory.get("k", MEI) is None
    assert await memory.recall("cat", 5, MEI) == []
    assert await memory.count() == 0


async def finds_words_of_scripts_without_spaces(memory: Memory) -> None:
    for content in ("我妹妹叫小美", "今天天气很好", "妹の名前は美紀です", "내 여동생은 지민이야"):
        await memory.store("", content, scope=MEI)
    for query, content in (
        ("我妹妹叫什么?", "我妹妹叫小美"),
        ("天气", "今天天气很好"),
        ("妹の名前は何ですか", "妹の名前は美紀です"),
        ("여동생 이름", "내 여동생은 지민이야"),
    ):
        found = await memory.recall(query, 1, MEI)
        assert [entry.content for entry in found] == [content]


async def takes_many_calls_at_once(memory: Memory) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(memory.store(f"k{number % 10}", f"fact {number}", scope=MEI))
            tasks.create_task(memory.recall("fact", 5, MEI))
    assert await memory.count() == 10


async def refuses_a_content_beyond_any_memory(memory: Memory) -> None:
    with pytest.raises(MemoryUnavailable):
        await memory.store("k", "x" * 1_000_000, scope=MEI)
    assert await memory.count() == 0


async def says_that_it_is_closed(memory: Memory) -> None:
    await memory.store("k", "content", scope=MEI)
    await memory.aclose()
    await memory.aclose()
    with pytest.raises(MemoryUnavailable):
        await memory.list(MEI)
    assert not await memory.health_check()


EVERY_BACKEND = (starts_empty, knows_nothing_of_a_key_that_was_never_stored, takes_any_text)
APPENDING = (
    *EVERY_BACKEND,
    returns_what_was_stored,
    trusts_least_what_comes_without_a_source,
    replaces_the_same_key_and_keeps_its_id,
    makes_a_key_from_the_content_when_none_is_given,
    finds_what_fits_and_scores_it,
    never_returns_more_than_the_limit,
    lists_the_newest_when_nothing_is_asked,
    keeps_people_apart,
    shares_what_belongs_to_everybody,
    keeps_groups_and_devices_apart,
    follows_a_person_from_chat_to_chat,
    narrows_a_list_by_session_and_category,
    gives_and_takes_everything_with_every_field,
    gives_a_number_of_its_own_where_one_is_taken,
    counts_what_it_keeps,
    finds_words_of_scripts_without_spaces,
    takes_many_calls_at_once,
    refuses_a_content_beyond_any_memory,
    says_that_it_is_closed,
    *CURATED,
)
KEEPING = (
    *APPENDING,
    forgets_for_good,
    forgets_only_ones_own,
    *UPKEPT,
)
