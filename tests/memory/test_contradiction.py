import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory.base import MemoryEntry
from agent.memory.contradiction import asks_for_the_past
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.turn.prompt import memory_context
from tests.contracts.memory import MEI, TOM
from tests.memory.conftest import MakeMemory


async def tell(
    memory: SqliteMemory, content: str, provenance: Provenance = Provenance.OWNER
) -> MemoryEntry:
    entry = await memory.store("", content, scope=MEI, provenance=provenance)
    await memory.settle(entry)
    return entry


@pytest.fixture
def memory(make_memory: MakeMemory) -> SqliteMemory:
    return make_memory(NoEmbedder())


async def shown(memory: SqliteMemory, query: str) -> list[str]:
    return [entry.content for entry in await memory.recall(query, 5, MEI)]


async def test_the_newer_truth_is_found_and_the_older_is_not(memory: SqliteMemory) -> None:
    await tell(memory, "I live in Oslo")
    await tell(memory, "I moved to Bergen")
    # It answers the question of the older one, whose words it does not have
    assert await shown(memory, "where do I live?") == ["I moved to Bergen"]


async def test_the_older_one_is_told_as_older_when_the_past_is_asked_for(
    memory: SqliteMemory,
) -> None:
    await tell(memory, "I live in Oslo")
    await tell(memory, "I live in Turin")
    await tell(memory, "I moved to Bergen")
    question = "where did I live before?"
    found = await memory.with_former(await memory.recall(question, 5, MEI), question)
    assert [entry.content for entry in found] == [
        "I moved to Bergen",
        "I live in Turin",
        "I live in Oslo",
    ]
    lines = memory_context(found).text.splitlines()
    assert "no longer so" not in lines[1]
    assert "- I live in Turin (2027-01-15 until 2027-01-15, no longer so, owner)" in lines


async def test_forgetting_the_newer_truth_brings_the_older_back(memory: SqliteMemory) -> None:
    await tell(memory, "my sister is Mei")
    ana = await tell(memory, "my sister is Ana")
    await memory.forget(ana.key, MEI)
    assert await shown(memory, "my sister") == ["my sister is Mei"]


async def test_forgetting_the_older_one_takes_its_words_along(memory: SqliteMemory) -> None:
    oslo = await tell(memory, "I live in Oslo")
    await tell(memory, "I moved to Bergen")
    await memory.forget(oslo.key, MEI)
    assert await shown(memory, "Oslo") == []


async def test_less_trusted_words_close_nothing(memory: SqliteMemory) -> None:
    await tell(memory, "the alarm code is 4711")
    await tell(memory, "the alarm code is 0000", Provenance.WEB)
    assert set(await shown(memory, "alarm code")) == {
        "the alarm code is 4711",
        "the alarm code is 0000",
    }


async def test_nor_does_what_somebody_else_says(memory: SqliteMemory) -> None:
    await tell(memory, "my sister is Mei")
    entry = await memory.store("", "my sister is Ana", scope=TOM, provenance=Provenance.OWNER)
    assert await memory.settle(entry) == []


async def test_a_pinned_truth_stays(memory: SqliteMemory) -> None:
    mei = await tell(memory, "my sister is Mei")
    await memory.mark(mei.key, MEI, pinned=True)
    await tell(memory, "my sister is Ana")
    assert len(await shown(memory, "my sister")) == 2


async def test_a_closed_truth_stays_closed_over_a_rebuild(memory: SqliteMemory) -> None:
    await tell(memory, "I live in Oslo")
    await tell(memory, "I moved to Bergen")
    await memory.rebuild()
    assert await shown(memory, "where do I live?") == ["I moved to Bergen"]


@pytest.mark.parametrize(
    "question",
    [
        "where did I live before?",
        "what was the code?",
        "wo habe ich früher gewohnt?",
        "¿dónde vivía antes?",
        "où j'habitais avant ?",
        "我以前住在哪里？",
        "昔はどこに住んでいましたか",
    ],
)
def test_the_past_is_asked_for_in_six_languages(question: str) -> None:
    assert asks_for_the_past(question)


@pytest.mark.parametrize("question", ["where do I live?", "Was ist der Code?", "我住在哪里？"])
def test_the_present_is_not_the_past(question: str) -> None:
    assert not asks_for_the_past(question)
