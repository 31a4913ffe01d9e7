"""Embedders for tests of what uses one: no model, and each fault that a model can have."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.errors import EmbedderUnavailable


class AbsentEmbedder:
    """No model at all."""

    model_id = "none"
    dimensions = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderUnavailable("there is no embedding model: run scripts/setup")

    async def aclose(self) -> None:
        pass


class FixedEmbedder:
    """Gives the rows it was made with, one for each text."""

    model_id = "fixed"

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self._rows = np.array(rows, dtype=np.float32)
        self.dimensions = self._rows.shape[1]
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._rows[: len(texts)]

    async def aclose(self) -> None:
        self.closed = True


class DamagedEmbedder(AbsentEmbedder):
    """Its files are there and cannot be used."""

    dimensions = 384

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderUnavailable("model.onnx is damaged: run scripts/setup again")
