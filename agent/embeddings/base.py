"""Seam of embeddings: texts to unit vectors, or an error if there is no model.

Some models tell each word's vector too, and read a text after what came right before it, which
gives "yes, in May" its meaning; the words before it are no part of the result.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns text into vectors.

    `dimensions` of 0 means that there is no model: callers go on with words alone.
    """

    @property
    def model_id(self) -> str:
        """Return the name of the exact weights; vectors of two ids are never compared."""

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "NDArray[np.float32]":
        """Return unit vectors of shape (len(texts), dimensions).

        Args:
            asked: these are questions; some models put them before other words than what is found.

        Raises:
            EmbedderUnavailable: the model is missing, damaged or out of reach.
        """

    async def aclose(self) -> None: ...


class TextPassage(Struct, frozen=True):
    """A text and the text right before it, if any."""

    text: str
    before: str = ""


class PassageReading(Struct, frozen=True):
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
class PassageReader(Protocol):
    """An embedder that reads passages; found by `isinstance`."""

    async def read(
        self, passages: Sequence[TextPassage], *, asked: bool = False
    ) -> list[PassageReading]:
        """Return one reading for each passage.

        Raises:
            EmbedderUnavailable: as `Embedder.embed`.
        """


async def readings(
    embedder: Embedder, passages: Sequence[TextPassage], *, asked: bool = False
) -> list[PassageReading]:
    """Return readings from any embedder; without tokens if it has none."""
    if isinstance(embedder, PassageReader):
        return await embedder.read(passages, asked=asked)
    vectors = await embedder.embed([passage.text for passage in passages], asked=asked)
    return [PassageReading(vector, vector[:0].reshape(0, len(vector))) for vector in vectors]
