"""The seam of models that tell each word's vector too, and read a text after what came before it.

What was said right before gives "yes, in May" its meaning; its own words are not part of the
result. Models that cannot do this give the vector of the text alone and no words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agent.embeddings.base import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and what came right before it, if anything did."""

    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model makes of a passage.

    Args:
        vector: of the whole text, of length 1.
        tokens: a vector for each token of the text, of shape (tokens, dimensions).
        spans: where in the text each of these tokens is.
    """

    vector: "NDArray[np.float32]"
    tokens: "NDArray[np.float32]"
    spans: Sequence[tuple[int, int]] = ()


@runtime_checkable
class Reader(Protocol):
    """An embedder that can do this; found by `isinstance`."""

    async def read(self, passages: Sequence[Passage], *, asked: bool = False) -> list[Reading]:
        """One for each passage.

        Raises:
            EmbedderUnavailable: as `Embedder.embed`.
        """


async def readings(
    embedder: Embedder, passages: Sequence[Passage], *, asked: bool = False
) -> list[Reading]:
    """By any embedder; without their tokens where it tells none."""
    if isinstance(embedder, Reader):
        return await embedder.read(passages, asked=asked)
    vectors = await embedder.embed([passage.text for passage in passages], asked=asked)
    return [Reading(vector, vector[:0].reshape(0, len(vector))) for vector in vectors]
