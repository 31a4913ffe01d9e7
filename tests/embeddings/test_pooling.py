from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from agent.embeddings.pooling import PoolingHead, SentenceHead, head_of
from agent.embeddings.recipe import Pooling
from agent.errors import EmbedderUnavailable

FOLDER = Path("model")


def output(name: str, *shape: object) -> SimpleNamespace:
    return SimpleNamespace(name=name, shape=shape)


def test_a_pooled_output_is_taken_as_it_is() -> None:
    outputs = [output("token_embeddings", "b", "t", 8), output("sentence_embedding", "b", 8)]
    assert head_of(outputs, Pooling.MEAN, FOLDER) == SentenceHead("sentence_embedding", 8)


def test_the_only_output_needs_no_name() -> None:
    assert head_of([output("vectors", "b", 8)], None, FOLDER) == SentenceHead("vectors", 8)


def test_the_pooler_of_an_encoder_is_not_taken_for_a_sentence() -> None:
    outputs = [output("last_hidden_state", "b", "t", "w"), output("pooler_output", "b", 8)]
    assert head_of(outputs, Pooling.CLS, FOLDER) == PoolingHead("last_hidden_state", 0, Pooling.CLS)


def test_a_graph_of_something_else_is_refused() -> None:
    with pytest.raises(EmbedderUnavailable, match="no vectors for texts or tokens"):
        head_of([output("logit", "b")], Pooling.MEAN, FOLDER)


@pytest.mark.parametrize("pooling", list(Pooling))
def test_padding_changes_no_vector(pooling: Pooling) -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(1, 3, 5)).astype(np.float32)
    padded = np.concatenate([values, np.full((1, 4, 5), 99, np.float32)], axis=1)
    head = PoolingHead("tokens", 5, pooling)
    alone = head.vectors(values, np.ones((1, 3), np.int64))
    beside = head.vectors(padded, np.array([[1, 1, 1, 0, 0, 0, 0]]))
    assert np.allclose(alone, beside)
