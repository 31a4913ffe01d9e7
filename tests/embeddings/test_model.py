from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.embeddings.folder import ModelFolder
from agent.embeddings.model import MAX_CHARS, ModelSession, batches


@pytest.fixture(scope="module")
def session(model_dir: Path) -> ModelSession:
    return ModelSession(ModelFolder(model_dir))


def test_texts_that_mean_the_same_are_near(session: ModelSession) -> None:
    rain, wet, sister = session.vectors(
        ["is it raining outside?", "what is the weather like, wet?", "my sister is called Mei"]
    )
    assert rain @ wet > 0.5
    assert rain @ sister < 0.2


def test_a_text_has_the_same_vector_whatever_stands_beside_it(session: ModelSession) -> None:
    texts = ["yes", "what is the temperature?", "a longer sentence about nothing " * 12, "我妹妹"]
    together = session.vectors(texts)
    alone = np.concatenate([session.vectors([text]) for text in texts])
    assert np.allclose((together * alone).sum(axis=1), 1, atol=1e-4)


def test_vectors_come_in_the_order_of_the_texts(session: ModelSession) -> None:
    texts = [f"{'word ' * (9 - number)}{number}" for number in range(9)]
    reversed_vectors = session.vectors(texts[::-1])[::-1]
    assert np.allclose(session.vectors(texts), reversed_vectors, atol=1e-3)


@pytest.mark.parametrize(
    "text", ["", " ", "🙂", "\x00", "x" * 100_000, "词" * 10_000, "\ud800", "[CLS] [SEP] [PAD]"]
)
def test_any_text_has_a_unit_vector(session: ModelSession, text: str) -> None:
    [vector] = session.vectors([text])
    assert vector.dtype == np.float32
    assert vector.shape == (session.dimensions,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_no_texts_have_no_vectors(session: ModelSession) -> None:
    assert session.vectors([]).shape == (0, session.dimensions)


def test_what_lies_beyond_the_longest_text_changes_nothing(session: ModelSession) -> None:
    text = "word " * MAX_CHARS
    one, other = session.vectors([text, f"{text} and something else"])
    assert one @ other == pytest.approx(1, abs=1e-5)


@given(st.lists(st.integers(1, 256), max_size=60))
def test_batches_hold_every_text_once_and_stay_small(lengths: list[int]) -> None:
    made = list(batches(lengths))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        assert batch
        assert len(batch) * max(lengths[place] for place in batch) <= 1024
