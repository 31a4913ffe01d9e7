"""No embedding model: recall uses words alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class NoEmbedder:
    """Raises EmbedderUnavailable at every call."""

    model_id = ""
    dimensions = 0

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "NDArray[np.float32]":
        raise EmbedderUnavailable("no embedding model is configured: recall uses words alone")

    async def aclose(self) -> None:
        return
