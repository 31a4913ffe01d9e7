"""The seam of embeddings: texts to unit vectors, or the plain statement that there are none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
