"""The tensors of a safetensors file, mapped into memory, and their int8 form: numpy alone."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[np.float32]]

LARGEST_INT8 = 127
# The file begins with the length of its table of contents
_LENGTH_BYTES = 8


def read_tensors(path: Path) -> Tensors:
    """Every 32-bit tensor by its name."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        table = json.loads(file.read(length))
    start = _LENGTH_BYTES + length
    return {
        name: np.memmap(
            path, "<f4", "r", offset=start + entry["data_offsets"][0], shape=tuple(entry["shape"])
        )
        for name, entry in table.items()
        if entry.get("dtype") == "F32"
    }


def quantised(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers and the scale of each column; rounded alike on every machine."""
    scales = np.abs(weights).max(axis=0) / np.float32(LARGEST_INT8)
    # A column of zeros needs no scale
    scales[scales == 0] = 1
    return np.rint(weights / scales).astype(np.int8), scales.astype(np.float32)
