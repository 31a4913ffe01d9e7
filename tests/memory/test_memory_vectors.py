"""Vectors of a store that is opened again: read in pieces, while words answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.memory import memory_vectors
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.memory.vectors import VectorIndex
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder
from tests.waits import wait_until

MEI = Scope("mei")
# By its letters near one memory, and by its words near none
MEANT = "boilersystem"
PIECE = 2


def opened(folder: Path) -> SqliteMemory:
    return SqliteMemory(folder / "brain.db", LetterEmbedder(), SteppedClock())


@pytest.fixture
async def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteMemory]:
    """A store of several pieces that was just opened."""
    first = opened(tmp_path)
    for number in range(4 * PIECE):
        await first.store(f"n{number}", f"number {number} of the shelf", scope=MEI)
    await first.store("boiler", "the boiler systems are in the cellar", scope=MEI)
    await first.aclose()
    monkeypatch.setattr(memory_vectors, "READ_PIECE", PIECE)
    memory = opened(tmp_path)
    yield memory
    await memory.aclose()


async def contents(memory: SqliteMemory, question: str) -> list[str]:
    return [entry.content for entry in await memory.recall(question, 1, MEI)]


async def test_words_answer_while_vectors_are_read(
    large: SqliteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bool] = []
    read_on = VectorIndex.read_on

    def counting(self: VectorIndex, *given: object) -> bool:
        read.append(read_on(self, *given))  # type: ignore[arg-type]  # passed on as they came
        return read[-1]

    monkeypatch.setattr(VectorIndex, "read_on", counting)
    assert await contents(large, "where is the boiler") == ["the boiler systems are in the cellar"]
    # None of five pieces was read before that answer, and no model asked
    assert read == []
    assert large._meanings._embedder.embedded == []  # type: ignore[attr-defined]  # of this fake
    await wait_until(lambda: read[-1:] == [True])
    assert await contents(large, MEANT) == ["the boiler systems are in the cellar"]


async def test_what_is_stored_while_vectors_are_read_is_found_by_them(large: SqliteMemory) -> None:
    await asyncio.gather(
        contents(large, "where is the boiler"),
        large.store("attic", "the antenna amplifier hums", scope=MEI),
    )
    await found_by_meaning(large, "antennaamplifier", "the antenna amplifier hums")


async def test_what_another_program_has_written_is_read_anew(
    large: SqliteMemory, tmp_path: Path
) -> None:
    await found_by_meaning(large, MEANT, "the boiler systems are in the cellar")
    other = opened(tmp_path)
    await other.store("attic", "the antenna amplifier hums", scope=MEI)
    await other.aclose()
    await found_by_meaning(large, "antennaamplifier", "the antenna amplifier hums")


async def test_a_memory_that_is_put_back_is_embedded_again(large: SqliteMemory) -> None:
    await found_by_meaning(large, MEANT, "the boiler systems are in the cellar")
    [entry] = await large.recall(MEANT, 1, MEI)
    await large.restore(entry)
    await found_by_meaning(large, MEANT, "the boiler systems are in the cellar")


async def found_by_meaning(memory: SqliteMemory, question: str, expected: str) -> None:
    async def is_found() -> bool:
        return await contents(memory, question) == [expected]

    await wait_until(is_found)
