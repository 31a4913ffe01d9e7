"""Comparing a question with every vector, by the number of vectors; and what int8 loses."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.embeddings.base import TextPassage
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.vectors import VectorIndex
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.table import NO_BAR, Row

DIMENSIONS = 384
OWNER = "owner"
# What recall looks at closely
_BEST = 100
_QUESTIONS = 20
_MAX_COMPARED = 2_000
_MAX_ASKED = 200
# The index, the floats it is compared with, and as much again while the index grows
_BYTES_PER_ROW = DIMENSIONS * (1 + 4 + 1) + 200
_BLOCK = 10_000

Vectors = NDArray[np.float32]


def measure(numbers: Sequence[int]) -> list[Row]:
    """One row for each number of vectors that has room in RAM."""
    return [_measured(number) for number in numbers]


def _measured(number: int) -> Row:
    what = f"the nearest {_BEST} of {number:,} vectors, p50"
    if number * _BYTES_PER_ROW > _available_bytes():
        free_mb = _available_bytes() >> 20
        return Row(what, NO_BAR, "not run", f"{free_mb} MB of RAM are free", None)
    index, floats = _filled(number)
    asked = list(_unit(np.random.default_rng(number), _QUESTIONS))
    search_ms = _median_ms(lambda one: index.search(one, [OWNER]).nearest(_BEST), asked)
    product_ms = _median_ms(lambda one: floats @ one, asked)
    held = sum(one.nbytes for one in vars(index).values() if isinstance(one, np.ndarray))
    return Row(
        what,
        NO_BAR,
        f"{search_ms:.1f} ms, {held / 1e6:.1f} MB",
        f"{product_ms:.1f} ms, {floats.nbytes / 1e6:.1f} MB (numpy, floats, the product alone)",
        None,
    )


async def compared(dataset: Dataset, embedder: OnnxEmbedder) -> Row:
    """The row of what int8 without rescoring loses: nothing that recall could see."""
    texts = [one.text for one in dataset.documents[:_MAX_COMPARED]]
    floats = np.array([one.vector for one in await embedder.read([TextPassage(t) for t in texts])])
    questions = [one.text for one in dataset.queries[:_MAX_ASKED]]
    asked = await embedder.embed(questions, asked=True)
    index = VectorIndex(embedder.model_id, floats.shape[1])
    for place, vector in enumerate(floats):
        index.put(place + 1, OWNER, vector)
    kept, furthest = [], 0.0
    for question in asked:
        found = index.search(question, [OWNER])
        exact = floats @ question
        best = set((np.argsort(-exact)[:_BEST] + 1).tolist())
        kept.append(len(best & set(found.nearest(_BEST))) / len(best))
        furthest = max(furthest, float(np.abs(found.cosines - exact).max()))
    return Row(
        f"the same {_BEST} of {len(texts):,} vectors as with floats",
        NO_BAR,
        f"{statistics.fmean(kept) * 100:.1f} %, cosines within {furthest:.4f}",
        f"{len(questions)} questions of {dataset.name}; int8 is not rescored",
        None,
    )


def _filled(number: int) -> tuple[VectorIndex, Vectors]:
    index = VectorIndex("any", DIMENSIONS)
    floats = np.empty((number, DIMENSIONS), np.float32)
    began_s = time.monotonic()
    for start in range(0, number, _BLOCK):
        rows = min(_BLOCK, number - start)
        floats[start : start + rows] = _unit(np.random.default_rng(start), rows)
        for place in range(start, start + rows):
            index.put(place + 1, OWNER, floats[place])
    print(f"  {number:,} vectors, {time.monotonic() - began_s:.0f} s", flush=True)
    return index, floats


def _unit(random: np.random.Generator, rows: int) -> Vectors:
    made = random.standard_normal((rows, DIMENSIONS), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def _median_ms(call: Callable[[Vectors], object], asked: Sequence[Vectors]) -> float:
    taken = []
    for question in asked:
        began_s = time.perf_counter()
        call(question)
        taken.append((time.perf_counter() - began_s) * 1e3)
    # The first one orders the rows
    return statistics.median(taken[1:])


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
