"""Unit vectors from outside numbers, checked for length and direction.

Importing this module loads no numpy; its functions do.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

# The longest that any model gives; more would only fill the memory of a small board
MAX_DIMENSIONS = 8192


def unit(rows: "Sequence[Sequence[float]] | Vectors", length: int = 0) -> "Vectors":
    """Return the rows with length 1.

    Args:
        length: numbers that each must have; 0 takes those of the first row.

    Raises:
        ValueError: they cannot be vectors of one model; the text says why.
    """
    import numpy as np  # noqa: PLC0415 - 20 MB, once there are vectors

    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise ValueError(f"vectors of {len(lengths)} lengths")
    (own,) = lengths
    if not 0 < own <= MAX_DIMENSIONS:
        raise ValueError(f"vectors of {own} numbers")
    if length and own != length:
        raise ValueError(f"vectors of {own} numbers where {length} are expected")
    # In 64 bits, where no square of a 32-bit number is infinite
    values = np.asarray(rows, np.float64)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    # Also false for what is not a number
    if not bool(((norms > 0) & np.isfinite(norms)).all()):
        raise ValueError("vectors without a direction")
    result: Vectors = (values / norms).astype(np.float32)
    return result


def joined(parts: "Sequence[Vectors]", length: int) -> "Vectors":
    """Return all rows together; an empty array of that length without rows."""
    import numpy as np  # noqa: PLC0415 - as above

    none: Vectors = np.zeros((0, length), np.float32)
    return np.concatenate(parts) if parts else none


def encoded(rows: "Vectors") -> bytes:
    """Return the stored form of numbers: 32 bits, little-endian."""
    return rows.astype("<f4").tobytes()


def decoded(blob: bytes) -> "Vectors":
    """Return one stored row.

    Raises:
        ValueError: it is not made of whole numbers of 32 bits.
    """
    import numpy as np  # noqa: PLC0415 - as above

    row: Vectors = np.frombuffer(blob, "<f4").astype(np.float32)[None]
    return row
