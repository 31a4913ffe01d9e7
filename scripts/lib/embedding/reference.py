"""Vectors of the original model for fixed sentences, and the distance of another model.

`reference.json` holds the vectors that `original_vector` computed from the published weights in
double precision; they agree with the values that the model's authors show to all printed digits.
"""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.lib.embedding.weights import Tensors

FILE = Path(__file__).with_name("reference.json")
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reference:
    """A sentence and the original model's vector of it."""

    text: str
    vector: NDArray[np.float16]


def load() -> list[Reference]:
    return [
        Reference(
            entry["text"],
            np.frombuffer(base64.b64decode(entry["vector"]), "<f2"),
        )
        for entry in json.loads(FILE.read_text(encoding="utf-8"))
    ]


def save(references: Sequence[Reference]) -> None:
    """Write the file anew, one line for each sentence."""
    lines = (
        json.dumps(
            {
                "text": one.text,
                "vector": base64.b64encode(one.vector.astype("<f2").tobytes()).decode(),
            },
            ensure_ascii=False,
        )
        for one in references
    )
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def similarities(references: Sequence[Reference], vectors: NDArray[np.float32]) -> list[float]:
    """Cosines between the original's vectors and these."""
    expected = np.array([one.vector for one in references], np.float64)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    return [float(cosine) for cosine in (expected * vectors).sum(axis=1)]


def original_vector(tensors: Tensors, token_ids: Sequence[int]) -> NDArray[np.float16]:
    """The original model's vector: the plain transformer, written out."""
    states = (
        tensors["embeddings.word_embeddings.weight"][list(token_ids)].astype(np.float64)
        + tensors["embeddings.position_embeddings.weight"][: len(token_ids)]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    states = _layer_norm(tensors, "embeddings.LayerNorm", states)
    for number in range(_LAYERS):
        states = _layer(tensors, f"encoder.layer.{number}.", states)
    mean = states.mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float16)


def _layer(tensors: Tensors, source: str, states: _Matrix) -> _Matrix:
    query, key, value = (
        _heads(_linear(tensors, f"{source}attention.self.{part}", states))
        for part in ("query", "key", "value")
    )
    weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
    attended = weights / weights.sum(axis=-1, keepdims=True) @ value
    joined = attended.transpose(1, 0, 2).reshape(states.shape)
    projected = _linear(tensors, f"{source}attention.output.dense", joined)
    states = _layer_norm(tensors, f"{source}attention.output.LayerNorm", projected + states)
    wide = _linear(tensors, f"{source}intermediate.dense", states)
    active = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
    narrow = _linear(tensors, f"{source}output.dense", active)
    return _layer_norm(tensors, f"{source}output.LayerNorm", narrow + states)


def _heads(states: _Matrix) -> _Matrix:
    return states.reshape(len(states), _HEADS, -1).transpose(1, 0, 2)


def _linear(tensors: Tensors, source: str, states: _Matrix) -> _Matrix:
    return states @ tensors[f"{source}.weight"].T + tensors[f"{source}.bias"]


def _layer_norm(tensors: Tensors, source: str, states: _Matrix) -> _Matrix:
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
    return centred / spread * tensors[f"{source}.weight"] + tensors[f"{source}.bias"]
