"""The seam of embeddings: texts to unit vectors, or the plain statement that there are none.

Some models tell each word's vector too, and read a text after what came right before it, which
gives "yes, in May" its meaning; the words before it are no part of the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns text into vectors.

    `dimensions` of 0 means that there is no model: callers go on with words alone.
    """

    @property
    def model_id(self) -> str:
        """Names the exact weights: vectors of two ids are never compared."""

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "NDArray[np.float32]":
        """Unit vectors of shape (len(texts), dimensions).

        Args:
            asked: these are questions; some models put them before other words than what is found.

        Raises:
            EmbedderUnavailable: the model is missing, damaged or out of reach.
        """

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and what came right before it, if anything did."""

    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Vectors that a model makes of a passage.

    Args:
        vector: of the whole text, of length 1.
        tokens: a vector for each token that the model knows, of shape (tokens, dimensions).
        spans: where in the text each of these tokens is, what is between them is not understood;
            None where the model tells no tokens.
        drops_marks: the model reads letters without their accents and tones.
    """

    vector: "NDArray[np.float32]"
    tokens: "NDArray[np.float32]"
    spans: Sequence[tuple[int, int]] | None = None
    drops_marks: bool = False


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
