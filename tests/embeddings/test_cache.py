from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.embeddings.cache import FLUSH_ROWS, MOST_AT_HAND, CachedEmbedder
from agent.embeddings.cache_file import CacheFile
from agent.errors import EmbedderUnavailable
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import AbsentEmbedder, LetterEmbedder, ReturningEmbedder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "embeddings.db"


@pytest.fixture
def rubbish(path: Path) -> Path:
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 1000)
    return path


def is_there(path: Path) -> bool:
    return path.exists()


def cached(inner: LetterEmbedder, path: Path, most: int = 100) -> CachedEmbedder:
    return CachedEmbedder(inner, CacheFile(path, most), SteppedClock())


async def test_the_same_text_is_embedded_once(path: Path) -> None:
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    first = await embedder.embed(["a fact", "another", "a fact"])
    again = await embedder.embed(["another", "a fact"])
    assert inner.embedded == ["a fact", "another"]
    assert np.allclose(first[:2], again[::-1], atol=1e-6)
    assert np.allclose(first[0], first[2])
    await embedder.aclose()


async def test_it_is_known_after_a_restart_too(path: Path) -> None:
    embedder = cached(LetterEmbedder(), path)
    before = await embedder.embed(["a fact", "another"])
    await embedder.aclose()
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    assert np.allclose(await embedder.embed(["a fact", "another"]), before, atol=1e-6)
    assert inner.embedded == []
    await embedder.aclose()


async def test_questions_are_no_passages_and_stay_out_of_the_file(path: Path) -> None:
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    for asked in (True, False, True):
        await embedder.embed(["a fact"], asked=asked)
    assert inner.embedded == ["a fact", "a fact"]
    await embedder.aclose()
    file = CacheFile(path, 100)
    assert await file.count() == 1
    await file.aclose()


async def test_asking_alone_makes_no_file(path: Path) -> None:
    embedder = cached(LetterEmbedder(), path)
    await embedder.embed(["what?"], asked=True)
    await embedder.aclose()
    assert not is_there(path)


async def test_another_model_shares_nothing(path: Path) -> None:
    first, second = LetterEmbedder(), LetterEmbedder()
    second.model_id = "other-256"
    for inner in (first, second, first):
        embedder = cached(inner, path)
        await embedder.embed(["a fact"])
        await embedder.aclose()
    assert first.embedded == second.embedded == ["a fact"]


async def test_a_model_that_changes_while_it_runs_is_noticed(path: Path) -> None:
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    await embedder.embed(["a fact"])
    inner.model_id = "other-256"
    await embedder.embed(["a fact"])
    assert inner.embedded == ["a fact", "a fact"]
    await embedder.aclose()


async def test_the_least_recently_used_goes_first(path: Path) -> None:
    clock = SteppedClock()
    for texts in (["one", "two"], ["one"], ["three"]):
        embedder = CachedEmbedder(LetterEmbedder(), CacheFile(path, 2), clock)
        await embedder.embed(texts)
        await embedder.aclose()
        clock.advance(1)
    inner = LetterEmbedder()
    embedder = cached(inner, path, most=2)
    await embedder.embed(["one", "three", "two"])
    assert inner.embedded == ["two"]
    await embedder.aclose()


async def test_what_is_new_is_written_in_batches(path: Path) -> None:
    embedder = cached(LetterEmbedder(), path)
    for number in range(FLUSH_ROWS + 3):
        await embedder.embed([f"fact {number}"])
    file = CacheFile(path, 100)
    assert await file.count() == FLUSH_ROWS
    await embedder.aclose()
    assert await file.count() == FLUSH_ROWS + 3
    await file.aclose()


async def test_few_are_kept_at_hand(path: Path) -> None:
    embedder = cached(LetterEmbedder(), path)
    for number in range(MOST_AT_HAND + 20):
        await embedder.embed([f"question {number}"], asked=True)
    assert len(embedder._at_hand) == MOST_AT_HAND
    await embedder.aclose()


@pytest.mark.parametrize(
    "blob",
    [b"", b"abc", b"\x00" * 1024, b"\x00\x00\xc0\x7f" * 256, b"\x00\x00\x80\x3f" * 8, "text", 7],
    ids=repr,
)
async def test_a_damaged_vector_is_made_again(path: Path, blob: object) -> None:
    embedder = cached(LetterEmbedder(), path)
    before = await embedder.embed(["a fact"])
    await embedder.aclose()
    file = CacheFile(path, 100)
    await file._run(lambda db: db.execute("UPDATE embedding_cache SET vector = ?", [blob]), None)
    await file.aclose()
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    assert np.allclose(await embedder.embed(["a fact"]), before, atol=1e-6)
    assert inner.embedded == ["a fact"]
    await embedder.aclose()


async def test_a_file_that_cannot_be_used_only_costs_time(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.write_text("in the way")
    inner = LetterEmbedder()
    embedder = cached(inner, path)
    for number in range(3):
        assert len(await embedder.embed([f"fact {number}"])) == 1
    await embedder.aclose()
    assert caplog.text.count("embeddings: cache not used") == 1


async def test_rubbish_in_its_place_is_set_aside(rubbish: Path) -> None:
    path = rubbish
    embedder = cached(LetterEmbedder(), path)
    await embedder.embed(["a fact"])
    await embedder.aclose()
    assert len(list(path.parent.glob("embeddings.db.corrupt.*"))) == 1


async def test_with_no_room_nothing_is_written(path: Path) -> None:
    embedder = cached(LetterEmbedder(), path, most=0)
    await embedder.embed(["a fact"])
    await embedder.aclose()
    assert not is_there(path)


async def test_without_a_model_it_says_so(path: Path) -> None:
    embedder = CachedEmbedder(AbsentEmbedder(), CacheFile(path, 9), SteppedClock())
    assert embedder.dimensions == 0
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a fact"])
    await embedder.aclose()


async def test_a_failure_is_not_remembered(path: Path) -> None:
    inner = ReturningEmbedder()
    embedder = cached(inner, path)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a fact"])
    inner.is_there = True
    made: NDArray[np.float32] = await embedder.embed(["a fact"])
    assert made.shape == (1, 256)
    await embedder.aclose()


async def test_no_texts_are_no_rows(path: Path) -> None:
    nothing: Sequence[str] = []
    embedder = cached(LetterEmbedder(), path)
    assert (await embedder.embed(nothing)).shape == (0, 256)
    await embedder.aclose()
