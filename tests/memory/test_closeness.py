import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.closeness import MAX_TOKENS, AskedWords, Vectors, closest, packed

DIMENSIONS = 40


def directions(seed: int, number: int) -> Vectors:
    return np.random.default_rng(seed).standard_normal((number, DIMENSIONS)).astype(np.float32)


def stored(tokens: Vectors) -> bytes:
    kept = packed(tokens)
    assert kept is not None
    return kept


def test_a_memory_with_the_asked_words_is_closer_than_one_without() -> None:
    words = directions(1, 3)
    asked = AskedWords(words, [1.0, 1.0, 1.0])
    with_them = np.concatenate([directions(2, 5), words])
    near = closest(asked, {1: stored(with_them), 2: stored(directions(3, 8))})
    assert near[1] > 0.7 > near[2] + 0.2


def test_words_that_tell_more_count_more() -> None:
    words = directions(1, 2)
    memories = {1: stored(words[:1]), 2: stored(words[1:])}
    near = closest(AskedWords(words, [0.9, 0.1]), memories)
    assert near[1] > near[2]


def test_signs_keep_the_cosine_of_plain_numbers_about() -> None:
    words = directions(1, 1)
    memories = {number: stored(directions(number, 1)) for number in range(2, 60)}
    near = closest(AskedWords(words, [1.0]), memories)
    unit = words[0] / np.linalg.norm(words[0])
    exact = [float(unit @ directions(n, 1)[0] / np.linalg.norm(directions(n, 1))) for n in near]
    assert np.corrcoef(exact, list(near.values()))[0, 1] > 0.7


def test_a_text_without_words_is_not_kept() -> None:
    assert packed(directions(1, 0)) is None


def test_of_a_long_text_only_the_beginning_is_kept() -> None:
    assert len(stored(directions(1, 500))) == MAX_TOKENS * DIMENSIONS // 8


def test_damaged_ones_are_left_out() -> None:
    asked = AskedWords(directions(1, 2), [1.0, 1.0])
    near = closest(asked, {1: b"", 2: b"odd", 3: stored(directions(1, 2))})
    assert set(near) == {3}


@pytest.mark.parametrize("weights", [[0.0, 0.0]])
def test_a_question_that_tells_nothing_is_close_to_nothing(weights: list[float]) -> None:
    assert closest(AskedWords(directions(1, 2), weights), {1: stored(directions(1, 2))}) == {}


@given(st.dictionaries(st.integers(), st.integers(1, 9), max_size=8))
def test_every_memory_gets_its_own(lengths: dict[int, int]) -> None:
    asked = AskedWords(directions(0, 2), [1.0, 2.0])
    memories = {one: stored(directions(one % 97, length)) for one, length in lengths.items()}
    together = closest(asked, memories)
    for one, blob in memories.items():
        assert together[one] == pytest.approx(closest(asked, {one: blob})[one], abs=1e-5)
