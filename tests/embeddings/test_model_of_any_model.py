"""Models that others exported: tokens that are pooled here, prefixes, and what cannot be run."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from agent.embeddings.folder import ModelFolder
from agent.embeddings.model import ModelSession
from agent.errors import EmbedderUnavailable
from tests.fakes.onnx_models import DIMENSIONS, TABLE, WORDS, pooling, write_model

PROMPTS = {"config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": ""}}}


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def rows_of(text: str) -> np.ndarray:
    return TABLE[[WORDS.index(word) for word in text.split()]]


def session(folder: Path) -> ModelSession:
    return ModelSession(ModelFolder(folder))


@pytest.mark.parametrize(
    ("mode", "pooled"),
    [
        ("mean", lambda rows: rows.mean(axis=0)),
        ("cls", lambda rows: rows[0]),
        ("max", lambda rows: rows.max(axis=0)),
        ("last", lambda rows: rows[-1]),
    ],
)
def test_tokens_are_pooled_as_the_files_say_whatever_is_padding(
    tmp_path: Path, mode: str, pooled: object
) -> None:
    assert callable(pooled)
    made = session(write_model(tmp_path / "colours", settings=pooling(mode)))
    texts = ["red", "green blue", "blue blue red"]
    assert made.dimensions == DIMENSIONS
    for text, vector in zip(texts, made.vectors(texts), strict=True):
        assert vector == pytest.approx(unit(pooled(rows_of(text))), abs=1e-5)


def test_a_question_and_a_passage_get_their_own_prefixes(tmp_path: Path) -> None:
    made = session(write_model(tmp_path, settings=pooling("mean") | PROMPTS))
    [passage], [question] = made.vectors(["red"]), made.vectors(["red"], asked=True)
    assert passage == pytest.approx(unit(rows_of("red")[0]), abs=1e-5)
    assert question == pytest.approx(unit(rows_of("query: red").mean(axis=0)), abs=1e-5)


def test_the_longest_text_is_what_the_files_say(tmp_path: Path) -> None:
    settings = pooling("last") | {"sentence_bert_config.json": {"max_seq_length": 2}}
    made = session(write_model(tmp_path, settings=settings))
    [cut, whole] = made.vectors(["red green blue", "red green"])
    assert cut == pytest.approx(whole)


def test_a_text_without_a_token_has_a_vector_too(tmp_path: Path) -> None:
    for mode in ("mean", "cls", "max", "last"):
        made = session(write_model(tmp_path / mode, settings=pooling(mode)))
        for vector in made.vectors(["", "red"]):
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_pooled_tokens_win_over_an_unnamed_second_output(tmp_path: Path) -> None:
    made = session(write_model(tmp_path, settings=pooling("mean"), sentence_output=True))
    [vector] = made.vectors(["red green"])
    assert vector == pytest.approx(unit(rows_of("red green").mean(axis=0)), abs=1e-5)


def test_a_graph_may_want_other_inputs_and_narrow_numbers(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    folder = write_model(
        tmp_path, inputs=inputs, settings=pooling("mean"), integer=TensorProto.INT32
    )
    assert len(session(folder).vectors(["red", "red green"])) == 2


def test_tokens_without_a_word_on_pooling_name_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"1_Pooling/config\.json must say how"):
        session(write_model(tmp_path))


def test_an_input_that_no_encoder_has_is_named(tmp_path: Path) -> None:
    folder = write_model(
        tmp_path, inputs=("input_ids", "past_key_values.0.key"), settings=pooling("mean")
    )
    with pytest.raises(EmbedderUnavailable, match=r"wants an input past_key_values\.0\.key"):
        session(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_numbers_without_a_direction_are_refused(tmp_path: Path, value: float) -> None:
    table = np.full_like(TABLE, value)
    folder = write_model(tmp_path, table=table, settings=pooling("mean"))
    with pytest.raises(EmbedderUnavailable, match="without a direction"):
        session(folder).vectors(["red"])


def test_another_prefix_or_pooling_is_another_model(tmp_path: Path) -> None:
    ids = [
        session(write_model(tmp_path / str(place) / "colours", settings=settings)).model_id
        for place, settings in enumerate(
            [pooling("mean"), pooling("cls"), pooling("mean") | PROMPTS, pooling("mean")]
        )
    ]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3
    assert ids[0].startswith("colours-")
