import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.memory import memory_vectors
from agent.memory.base import Memory
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.contracts.chronicled_memory import CHRONICLED
from tests.contracts.memory import EVERYBODY, KEEPING, MEI, TOM
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import (
    DamagedEmbedder,
    LetterEmbedder,
    ReturningEmbedder,
    StalledEmbedder,
)
from tests.memory.conftest import MakeMemory

Check = Callable[[Memory], Awaitable[None]]


@pytest.fixture(
    params=[NoEmbedder, DamagedEmbedder, LetterEmbedder], ids=lambda made: made.__name__
)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    made: Embedder = request.param()
    yield made
    await made.aclose()


@pytest.mark.parametrize("check", KEEPING, ids=lambda check: check.__name__)
async def test_it_does_what_every_backend_does(
    check: Check, embedder: Embedder, make_memory: MakeMemory
) -> None:
    await check(make_memory(embedder))


@pytest.mark.parametrize("check", CHRONICLED, ids=lambda check: check.__name__)
async def test_it_tells_what_was_so_before(check: Check, make_memory: MakeMemory) -> None:
    await check(make_memory(NoEmbedder()))


@pytest.mark.parametrize("check", KEEPING, ids=lambda check: check.__name__)
async def test_the_real_model_changes_nothing_of_that(
    check: Check, make_memory: MakeMemory, real_model: Embedder
) -> None:
    await check(make_memory(real_model))


async def filled(memory: SqliteMemory) -> None:
    """Wait until everything has its vector."""
    assert memory._meanings.filling is not None
    await memory._meanings.filling


async def vectors_of(memory: SqliteMemory) -> list[tuple[int, str]]:
    return await memory._brain.run(
        lambda db: db.execute("SELECT memory_id, model FROM memory_vectors").fetchall()
    )


async def test_what_was_stored_is_there_after_a_restart(make_memory: MakeMemory) -> None:
    first = make_memory(LetterEmbedder())
    stored = await first.store("", "my sister is called Mei", scope=MEI)
    await first.aclose()
    again = make_memory(LetterEmbedder())
    [found] = await again.recall("sister", 5, MEI)
    assert (found.memory_id, found.content) == (stored.memory_id, stored.content)


async def test_meaning_finds_what_shares_no_word(
    make_memory: MakeMemory, real_model: Embedder
) -> None:
    memory = make_memory(real_model)
    for content in (
        "the boiler was repaired in March",
        "my brother lives in Osaka",
        "the wifi password is on the fridge",
    ):
        await memory.store("", content, scope=MEI)
    [found] = await memory.recall("which Japanese town is my sibling's home", 1, MEI)
    assert found.content == "my brother lives in Osaka"
    assert found.score is not None
    assert found.score > 0.2


async def test_people_never_mix_by_meaning_either(
    make_memory: MakeMemory, real_model: Embedder
) -> None:
    memory = make_memory(real_model)
    for number in range(60):
        await memory.store("", f"tom's secret number {number} is {number * 7}", scope=TOM)
    await memory.store("", "the weather was fine", scope=MEI)
    found = await memory.recall("tom's secret number", 20, MEI)
    assert [entry.content for entry in found] == ["the weather was fine"]
    assert await memory.recall("tom's secret number", 20, EVERYBODY) == []


async def test_what_is_superseded_takes_no_place_in_the_limit(make_memory: MakeMemory) -> None:
    memory = make_memory(LetterEmbedder())
    stored = [await memory.store(f"k{n}", f"tea number {n}", scope=MEI) for n in range(6)]
    new, old = stored[0].memory_id, [entry.memory_id for entry in stored[1:4]]
    await memory._brain.run(
        lambda db: db.executemany(
            "UPDATE memories SET superseded_by = ? WHERE id = ?", [(new, one) for one in old]
        )
    )
    for query in ("tea number", "*"):
        found = await memory.recall(query, 3, MEI)
        assert {entry.key for entry in found} == {"k0", "k4", "k5"}
    assert await memory.count(MEI) == 3
    assert await memory.get("k1", MEI) is None
    assert await memory.forget("k0", MEI)
    assert {entry.key for entry in await memory.recall("tea", 9, MEI)} == {
        *("k1", "k2", "k3", "k4", "k5")
    }


async def test_memories_from_before_the_model_are_embedded_when_it_is_there(
    make_memory: MakeMemory,
) -> None:
    embedder = ReturningEmbedder()
    memory = make_memory(embedder)
    for number in range(memory_vectors.FILL_BATCH + 3):
        await memory.store(f"k{number}", f"fact number {number}", scope=MEI)
    assert await vectors_of(memory) == []
    embedder.is_there = True
    await memory.recall("fact", 1, MEI)
    await filled(memory)
    assert len(await vectors_of(memory)) == memory_vectors.FILL_BATCH + 3
    assert embedder.embedded.count("k3: fact number 3") == 1
    scores = {entry.score for entry in await memory.recall("number 3", 99, MEI)}
    assert None not in scores


async def test_another_model_embeds_everything_anew(make_memory: MakeMemory) -> None:
    first = make_memory(LetterEmbedder())
    await first.store("k", "my sister is called Mei", scope=MEI)
    await first.aclose()
    other = LetterEmbedder()
    other.model_id, other.dimensions = "letters-32", 32
    memory = make_memory(other)
    await memory.recall("sister", 1, MEI)
    await filled(memory)
    assert await vectors_of(memory) == [(1, "letters-32")]
    assert (await memory.recall("sister", 1, MEI))[0].key == "k"


async def test_a_memory_replaced_without_a_model_loses_its_old_vector(
    make_memory: MakeMemory,
) -> None:
    embedder = ReturningEmbedder()
    embedder.is_there = True
    memory = make_memory(embedder)
    await memory.store("k", "green tea", scope=MEI)
    embedder.is_there = False
    await memory.store("k", "the boiler", scope=MEI)
    assert await vectors_of(memory) == []
    embedder.is_there = True
    [found] = await memory.recall("green tea", 5, MEI) or [None]
    assert found is None


async def test_a_model_that_stalls_leaves_words_in_charge(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_vectors, "EMBED_TIMEOUT_S", 0.01)
    memory = make_memory(StalledEmbedder())
    await memory.store("", "my sister is called Mei", scope=MEI)
    [found] = await memory.recall("sister", 5, MEI)
    assert found.content == "my sister is called Mei"


async def test_listing_does_not_wait_for_the_model(make_memory: MakeMemory) -> None:
    memory = make_memory(StalledEmbedder())
    storing = asyncio.create_task(memory.store("", "my sister is called Mei", scope=MEI))
    assert await memory.list(MEI) == []
    assert await memory.count() == 0
    storing.cancel()
    await asyncio.gather(storing, return_exceptions=True)


async def test_a_cancelled_call_leaves_the_memory_whole(make_memory: MakeMemory) -> None:
    memory = make_memory(LetterEmbedder())
    for number in range(20):
        task = asyncio.create_task(memory.store(f"k{number}", f"fact {number}", scope=MEI))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    listed = {entry.key for entry in await memory.list(MEI)}
    assert {entry.key for entry in await memory.recall("fact", 99, MEI)} == listed


async def test_closing_ends_the_embedding_in_the_background(path: Path) -> None:
    embedder = ReturningEmbedder()
    memory = SqliteMemory(path, embedder, SteppedClock())
    for number in range(30):
        await memory.store("", f"fact number {number}", scope=MEI)
    embedder.is_there = True
    await memory.recall("fact", 1, MEI)
    await memory.aclose()
    assert memory._meanings.filling is not None
    assert memory._meanings.filling.done()


async def test_a_source_that_is_not_known_is_trusted_least(
    make_memory: MakeMemory, path: Path
) -> None:
    memory = make_memory(NoEmbedder())
    await memory.store("k", "content", scope=MEI, provenance=Provenance.OWNER)
    other = sqlite3.connect(path)
    other.execute("UPDATE memories SET provenance = 'oracle'")
    other.commit()
    other.close()
    found = await memory.get("k", MEI)
    assert found is not None
    assert found.provenance is Provenance.WEB


async def test_what_another_program_stores_is_found(make_memory: MakeMemory) -> None:
    mine, theirs = make_memory(LetterEmbedder()), make_memory(LetterEmbedder())
    await mine.store("", "green tea in the morning", scope=MEI)
    assert len(await mine.recall("tea", 5, MEI)) == 1
    await theirs.store("", "black tea at night", scope=MEI)
    assert len(await mine.recall("tea", 5, MEI)) == 2


def test_importing_it_loads_no_runtime() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers")
    program = (
        "import sys, agent.memory.sqlite, agent.embeddings.onnx, agent.tools.memory\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
