"""Pooling: from a graph's output to one vector for each text.

Importing this module loads numpy.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from agent.embeddings.recipe import POOLING_FILE, Pooling
from agent.errors import EmbedderUnavailable

Vectors = NDArray[np.float32]

# What exporters call an output that is pooled already
_SENTENCE_OUTPUTS = frozenset({"sentence_embedding", "sentence_embeddings", "text_embeds"})
# What our own graph calls the vectors that its sentences are the mean of, as does the format of
# sentence-transformers
_MEAN_POOLED_TOKENS = "token_embeddings"
_SENTENCE_AXES = 2
_TOKEN_AXES = 3


class GraphOutput(Protocol):
    """An output of a graph; an axis of unknown length is a name or None."""

    name: str
    shape: Sequence[object]


class SentenceHead(Struct, frozen=True):
    """The graph gives one vector for each text; `dimensions` is 0 while unknown."""

    output: str
    dimensions: int

    def vectors(self, values: Vectors, mask: NDArray[np.int64]) -> Vectors:
        return values


class PoolingHead(Struct, frozen=True):
    """The graph gives a vector for each token."""

    output: str
    dimensions: int
    pooling: Pooling

    def vectors(self, values: Vectors, mask: NDArray[np.int64]) -> Vectors:
        """Return one vector for each row; padding is ignored."""
        pooled: Vectors
        seen = mask[:, :, None].astype(np.float32)
        if self.pooling is Pooling.CLS:
            pooled = values[:, 0]
        elif self.pooling is Pooling.LAST:
            pooled = values[np.arange(len(values)), mask.sum(axis=1) - 1]
        elif self.pooling is Pooling.MAX:
            pooled = np.where(seen > 0, values, -np.inf).max(axis=1)
        else:
            pooled = (values * seen).sum(axis=1) / seen.sum(axis=1)
        return pooled


def head_of(
    outputs: Sequence[GraphOutput], pooling: Pooling | None, folder: Path
) -> SentenceHead | PoolingHead:
    """Return the step that turns the graph's result into vectors.

    Raises:
        EmbedderUnavailable: it cannot be known, or the graph gives something else.
    """
    sentences = [one for one in outputs if len(one.shape) == _SENTENCE_AXES]
    tokens = [one for one in outputs if len(one.shape) == _TOKEN_AXES]
    pooled = [one for one in sentences if one.name in _SENTENCE_OUTPUTS]
    if pooled or (sentences and not tokens):
        chosen = (pooled or sentences)[0]
        return SentenceHead(chosen.name, _length(chosen))
    if not tokens:
        raise EmbedderUnavailable(f"the model in {folder} gives no vectors for texts or tokens")
    if pooling is None:
        raise EmbedderUnavailable(
            f"the model in {folder} gives a vector for each token: "
            f"{folder / POOLING_FILE} must say how they are pooled"
        )
    return PoolingHead(tokens[0].name, _length(tokens[0]), pooling)


def token_output(
    outputs: Sequence[GraphOutput], head: SentenceHead | PoolingHead, pooling: Pooling | None
) -> str | None:
    """Return the output whose mean is the text's vector; None if no output is known to be."""
    if pooling not in {None, Pooling.MEAN}:
        return None
    if isinstance(head, PoolingHead):
        return head.output
    named = [one.name for one in outputs if one.name == _MEAN_POOLED_TOKENS]
    return named[0] if named else None


def _length(output: GraphOutput) -> int:
    last = output.shape[-1]
    return last if isinstance(last, int) else 0
