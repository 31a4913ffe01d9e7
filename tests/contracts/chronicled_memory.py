"""What every backend does with contradictions, and with what says the same as a forgotten memory.

`CHRONICLED` holds for those that tell what was so before.
"""

from msgspec.structs import replace

from agent.memory.base import (
    CONVERSATION,
    CORE,
    Catalogued,
    Chronicled,
    Curated,
    Memory,
    MemoryEntry,
    Scope,
)
from agent.messages import Provenance
from tests.contracts.people import MEI, TOM

OWNER = Provenance.OWNER


async def _tell(memory: Memory, content: str, provenance: Provenance = OWNER) -> MemoryEntry:
    assert isinstance(memory, Chronicled)
    entry = await memory.store("", content, scope=MEI, provenance=provenance)
    await memory.settle(entry)
    return entry


async def _drawn(memory: Memory, content: str, category: str, source: str) -> str:
    made = await memory.store(
        "", content, category=category, scope=MEI, provenance=OWNER, source=source
    )
    return made.key


async def _shown(memory: Memory, query: str) -> list[str]:
    return [entry.content for entry in await memory.recall(query, 5, MEI)]


async def _kept(memory: Memory, scope: Scope = MEI) -> set[str]:
    return {entry.content for entry in await memory.list(scope)}


async def shows_the_newer_truth_alone(memory: Memory) -> None:
    await _tell(memory, "I live in Oslo")
    await _tell(memory, "I moved to Bergen")
    # It answers the question of the older one, whose words it does not have
    assert await _shown(memory, "where do I live?") == ["I moved to Bergen"]
    assert await _shown(memory, "Oslo") == ["I moved to Bergen"]
    stats = await memory.stats()
    assert (stats.count, stats.superseded) == (1, 1)


async def names_what_a_new_truth_has_closed(memory: Memory) -> None:
    assert isinstance(memory, Chronicled)
    old = await _tell(memory, "my sister is Mei")
    await _tell(memory, "my brother is Ken")
    new = await memory.store("", "my sister is Ana", scope=MEI, provenance=OWNER)
    assert await memory.settle(new) == [old.key]
    assert await memory.settle(new) == []


async def tells_the_older_truth_when_the_past_is_asked_for(memory: Memory) -> None:
    assert isinstance(memory, Chronicled)
    assert isinstance(memory, Curated)
    days = 86_400.0
    contents = ("I live in Oslo", "I live in Turin", "I moved to Bergen")
    for number, content in enumerate(contents):
        made = await memory.store("", content, scope=MEI, provenance=OWNER)
        assert await memory.mark(made.key, MEI, said_at_s=(number + 1) * days)
        await memory.settle(made)
    question = "where did I live before?"
    found = await memory.with_former(await memory.recall(question, 5, MEI), question)
    assert [(one.content, one.until_s) for one in found] == [
        ("I moved to Bergen", None),
        ("I live in Turin", 3 * days),
        ("I live in Oslo", 2 * days),
    ]
    asked = "where do I live?"
    assert len(await memory.with_former(await memory.recall(asked, 5, MEI), asked)) == 1


async def brings_the_older_truth_back_when_the_newer_is_forgotten(memory: Memory) -> None:
    await _tell(memory, "my sister is Mei")
    ana = await _tell(memory, "my sister is Ana")
    assert await memory.forget(ana.key, MEI)
    assert await _shown(memory, "my sister") == ["my sister is Mei"]
    assert await _shown(memory, "Ana") == []


async def takes_the_words_of_a_forgotten_older_truth_along(memory: Memory) -> None:
    oslo = await _tell(memory, "I live in Oslo")
    await _tell(memory, "I moved to Bergen")
    assert await memory.forget(oslo.key, MEI)
    assert await _shown(memory, "Oslo") == []
    assert (await memory.stats()).superseded == 0


async def gives_a_revived_truth_its_words_back(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    oslo = await _tell(memory, "I live in Oslo")
    await _tell(memory, "I moved to Bergen")
    assert await memory.revive(oslo.key, MEI)
    assert await _shown(memory, "Oslo") == ["I live in Oslo"]


async def closes_nothing_by_less_trusted_words(memory: Memory) -> None:
    told = {"the alarm code is 4711", "the alarm code is 0000"}
    await _tell(memory, "the alarm code is 4711")
    await _tell(memory, "the alarm code is 0000", Provenance.WEB)
    assert set(await _shown(memory, "alarm code")) == told


async def closes_nothing_of_somebody_else(memory: Memory) -> None:
    assert isinstance(memory, Chronicled)
    await _tell(memory, "my sister is Mei")
    entry = await memory.store("", "my sister is Ana", scope=TOM, provenance=OWNER)
    assert await memory.settle(entry) == []
    assert await _shown(memory, "my sister") == ["my sister is Mei"]


async def closes_no_pinned_truth(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    mei = await _tell(memory, "my sister is Mei")
    assert await memory.mark(mei.key, MEI, pinned=True)
    await _tell(memory, "my sister is Ana")
    assert len(await _shown(memory, "my sister")) == 2


async def keeps_a_closed_truth_closed_over_a_rebuild(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    await _tell(memory, "I live in Oslo")
    await _tell(memory, "I moved to Bergen")
    await memory.rebuild()
    assert await _shown(memory, "where do I live?") == ["I moved to Bergen"]


async def keeps_a_closed_truth_closed_over_a_move(memory: Memory) -> None:
    """As `migrate` and `import` put memories: what hides comes first."""
    assert isinstance(memory, Chronicled)
    new = MemoryEntry(41, "new", "I moved to Bergen", CORE, OWNER, MEI, 20.0, 20.0)
    old = replace(new, memory_id=40, key="old", content="I live in Oslo", created_at_s=10.0)
    await memory.restore(new)
    await memory.restore(replace(old, superseded_by=41))
    assert await _shown(memory, "where do I live?") == ["I moved to Bergen"]
    assert [(one.key, one.until_s) for one in await memory.former(new)] == [("old", 20.0)]
    # The same again, open: its words are its own
    await memory.restore(old)
    assert await _shown(memory, "Oslo") == ["I live in Oslo"]


async def tells_the_end_of_what_is_no_longer_so(memory: Memory) -> None:
    assert isinstance(memory, Catalogued)
    await _tell(memory, "the boiler is in the cellar")
    kitchen = await _tell(memory, "the boiler is in the kitchen")
    told = await memory.about("boilers", MEI)
    assert [(one.content, one.until_s) for one in told] == [
        ("the boiler is in the cellar", kitchen.created_at_s),
        ("the boiler is in the kitchen", None),
    ]


async def keeps_what_was_trusted_more_behind_the_same_key(memory: Memory) -> None:
    await memory.store("code", "the alarm code is 4711", scope=MEI, provenance=OWNER)
    web = await memory.store("code", "the alarm code is 0000", scope=MEI, provenance=Provenance.WEB)
    every = [one async for one in memory.entries()]
    assert {one.content for one in every} == {"the alarm code is 4711", "the alarm code is 0000"}
    [hidden] = [one for one in every if one.superseded_by == web.memory_id]
    assert (hidden.content, hidden.provenance) == ("the alarm code is 4711", OWNER)
    assert await memory.forget("code", MEI)
    assert await _kept(memory) == {"the alarm code is 4711"}


async def lends_no_trust_to_a_less_trusted_repetition(memory: Memory) -> None:
    told = await memory.store("", "the gate code is 1", scope=MEI, provenance=OWNER)
    again = await memory.store("", "The gate code is 1.", scope=MEI, provenance=Provenance.WEB)
    assert again == told
    assert [one async for one in memory.entries()] == [told]


async def forgets_the_message_of_a_fact(memory: Memory) -> None:
    assert isinstance(memory, Catalogued)
    await _drawn(memory, "By the way, my sister is called Mei", CONVERSATION, "chat")
    await _drawn(memory, "my brother is called Tom", CONVERSATION, "chat")
    fact = await _drawn(memory, "Sister is called Mei", CORE, "chat#1-2")
    doomed = [one.content for one in await memory.doomed(fact, MEI)]
    assert doomed == ["Sister is called Mei", "By the way, my sister is called Mei"]
    assert await memory.forget(fact, MEI)
    assert await _kept(memory) == {"my brother is called Tom"}


async def forgets_the_facts_of_a_message(memory: Memory) -> None:
    said = await _drawn(memory, "By the way, my sister is called Mei", CONVERSATION, "chat")
    await _drawn(memory, "Sister is called Mei", CORE, "chat#1-2")
    await _drawn(memory, "Sister is called Ana", CORE, "chat#3-4")
    assert await memory.forget(said, MEI)
    assert await _kept(memory) == {"Sister is called Ana"}


async def forgets_what_a_person_said_in_a_group_there_too(memory: Memory) -> None:
    said = "the surprise party is on Saturday"
    made = await memory.store("", said, scope=Scope("mei", "family"), provenance=OWNER)
    await memory.store("", said, scope=Scope(None, "family", "family"), provenance=OWNER)
    await memory.store("", said, scope=Scope(None, "club", "club"), provenance=OWNER)
    assert await memory.forget(made.key, MEI)
    assert await _kept(memory, Scope(group="family")) == set()
    assert await _kept(memory, Scope(group="club")) == {said}


async def forgets_hidden_repetitions_too(memory: Memory) -> None:
    assert isinstance(memory, Curated)
    one = await memory.store("one", "likes tea", scope=MEI, provenance=OWNER)
    await memory.store("two", "Likes tea.", scope=MEI, provenance=OWNER)
    assert await memory.supersede("two", "one", MEI)
    assert await memory.forget(one.key, MEI)
    assert [entry async for entry in memory.entries()] == []


async def keeps_the_first_of_three_truths_closed_when_the_second_goes(memory: Memory) -> None:
    assert isinstance(memory, Chronicled)
    await _tell(memory, "I live in Oslo")
    second = await _tell(memory, "I moved to Bergen")
    third = await _tell(memory, "I moved to Rome")
    assert await memory.forget(second.key, MEI)
    assert await _kept(memory) == {"I moved to Rome"}
    assert await _shown(memory, "Oslo") == ["I moved to Rome"]
    [before] = await memory.former(third)
    assert (before.content, before.until_s) == ("I live in Oslo", third.created_at_s)
    # It is true again when nothing is newer
    assert await memory.forget(third.key, MEI)
    assert await _kept(memory) == {"I live in Oslo"}


CHRONICLED = (
    keeps_the_first_of_three_truths_closed_when_the_second_goes,
    shows_the_newer_truth_alone,
    names_what_a_new_truth_has_closed,
    tells_the_older_truth_when_the_past_is_asked_for,
    brings_the_older_truth_back_when_the_newer_is_forgotten,
    takes_the_words_of_a_forgotten_older_truth_along,
    gives_a_revived_truth_its_words_back,
    closes_nothing_by_less_trusted_words,
    closes_nothing_of_somebody_else,
    closes_no_pinned_truth,
    keeps_a_closed_truth_closed_over_a_rebuild,
    keeps_a_closed_truth_closed_over_a_move,
    tells_the_end_of_what_is_no_longer_so,
    keeps_what_was_trusted_more_behind_the_same_key,
    lends_no_trust_to_a_less_trusted_repetition,
    forgets_the_message_of_a_fact,
    forgets_the_facts_of_a_message,
    forgets_what_a_person_said_in_a_group_there_too,
    forgets_hidden_repetitions_too,
)
