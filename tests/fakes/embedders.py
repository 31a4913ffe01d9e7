"""Embedders for tests of what uses one: no model, and each fault that a model can have."""

import asyncio
import itertools
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.errors import EmbedderUnavailable


class AbsentEmbedder:
    """No model at all."""

    model_id = "none"
    dimensions = 0

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
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

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        return self._rows[: len(texts)]

    async def aclose(self) -> None:
        self.closed = True


class DamagedEmbedder(AbsentEmbedder):
    """Its files are there and cannot be used."""

    dimensions = 384

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        raise EmbedderUnavailable("model.onnx is damaged: run scripts/setup again")


class LetterEmbedder:
    """A small model that never fails: texts are as near as they share pairs of letters."""

    model_id = "letters-256"
    dimensions = 256

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        self.embedded += texts
        # No text is without a direction
        rows = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters = "".join(char for char in text.casefold() if char.isalnum())
            for pair in map("".join, itertools.pairwise(letters)):
                row[zlib.crc32(pair.encode(errors="replace")) % len(row)] += 1
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def aclose(self) -> None:
        pass


class ReturningEmbedder(LetterEmbedder):
    """Has no model until `is_there` is set."""

    is_there = False

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        if not self.is_there:
            raise EmbedderUnavailable("there is no embedding model yet")
        return await super().embed(texts, asked=asked)


class StalledEmbedder(LetterEmbedder):
    """Takes a text and never gives its vector."""

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")
