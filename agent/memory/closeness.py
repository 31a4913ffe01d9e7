"""Closeness of a memory's words to those of a question, one by one (late interaction).

Of each token's vector only the signs are kept: 48 bytes for 384 dimensions, 1.1 KB for a turn of
a conversation. They are read for the memories that are looked at closely and stay out of RAM
otherwise. Importing this module loads numpy.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

# What a turn of a conversation or a paragraph has; the rest of a longer text counts by its vector
MAX_TOKENS = 128
_BITS_PER_BYTE = 8
# Tokens that are widened to floats at a time: what stays in a processor's cache
_BLOCK_ROWS = 256

Vectors = NDArray[np.float32]


class AskedWords(Struct, frozen=True):
    """Tokens of a question and their weights."""

    tokens: Vectors
    weights: Sequence[float]


def packed(tokens: Vectors) -> bytes | None:
    """Return the signs of the tokens' numbers; None without tokens."""
    return np.packbits(tokens[:MAX_TOKENS] > 0, axis=1).tobytes() if len(tokens) else None


def closest(asked: AskedWords, stored: Mapping[int, bytes]) -> dict[int, float]:
    """Return each memory's weighted mean of the closest token to each asked one, about 0..1."""
    total = sum(asked.weights)
    row_bytes = -(-asked.tokens.shape[1] // _BITS_PER_BYTE)
    sound = {one: blob for one, blob in stored.items() if blob and len(blob) % row_bytes == 0}
    if not sound or not total:
        return {}
    lengths = [len(blob) // row_bytes for blob in sound.values()]
    rows = np.frombuffer(b"".join(sound.values()), np.uint8).reshape(-1, row_bytes)
    near = _cosines(asked.tokens, rows)
    best = np.maximum.reduceat(near, np.cumsum([0, *lengths[:-1]]), axis=0)
    means = best @ np.asarray(asked.weights, np.float32) / total
    return dict(zip(sound, means.tolist(), strict=True))


def _cosines(tokens: Vectors, rows: NDArray[np.uint8]) -> Vectors:
    """Return cosines between stored signs and asked tokens; a sign is -1 or 1, its bit 0 or 1."""
    dimensions = tokens.shape[1]
    unit = tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), np.float32(1e-9))
    near = np.empty((len(rows), len(tokens)), np.float32)
    wide = np.empty((_BLOCK_ROWS, dimensions), np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        bits = np.unpackbits(rows[start : start + _BLOCK_ROWS], axis=1, count=dimensions)
        np.copyto(wide[: len(bits)], bits)
        np.dot(wide[: len(bits)], unit.T, out=near[start : start + len(bits)])
    cosines: Vectors = (2 * near - unit.sum(axis=1)) / np.sqrt(np.float32(dimensions))
    return cosines
