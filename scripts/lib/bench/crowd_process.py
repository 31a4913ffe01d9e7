"""Started as a process of its own: recalls from a large store, its memory and times as JSON.

Arguments: an empty database, the large one, the folder of the model, a file of questions.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.system.clock import SystemClock

OWNER = Scope("owner")
_LIMIT = 5
_ROUNDS = 3
_KB = 1024
_LOOK_S = 0.01


def main(arguments: Sequence[str]) -> int:
    empty, large, model, questions = map(Path, arguments)
    asyncio.run(_measure(empty, large, model, json.loads(questions.read_bytes())))
    return 0


async def _measure(empty: Path, large: Path, model: Path, questions: list[str]) -> None:
    embedder = OnnxEmbedder(model)
    await _recalled(empty, embedder, questions)
    _forget_peak()
    before_kb = _status_kb("VmRSS")
    first_s, _ = await _recalled(large, embedder, questions)
    peak_kb = _status_kb("VmHWM")
    embed_s = [await _embedded_s(embedder, question) for question in questions]
    rows = _rows(large)
    calls_s, products_s = await _in_turns(large, embedder, questions, rows)
    found = {
        "rows": rows,
        "rss_over_empty_mb": (peak_kb - before_kb) / _KB,
        "first_ms": first_s * 1e3,
        "recall_ms": statistics.median(calls_s) * 1e3,
        "embed_ms": statistics.median(embed_s) * 1e3,
        "product_ms": statistics.median(products_s) * 1e3,
    }
    await embedder.aclose()
    print(json.dumps(found))


async def _recalled(
    path: Path, embedder: OnnxEmbedder, questions: Sequence[str]
) -> tuple[float, list[float]]:
    """Wall time of the first recall, which words answer in a large store; CPU of the others."""
    memory = SqliteMemory(path, embedder, SystemClock())
    began_s = time.perf_counter()
    await _recalled_s(memory, questions[0])
    first_s = time.perf_counter() - began_s
    await _vectors_read(memory)
    taken = [await _recalled_s(memory, question) for question in questions[1:]]
    await memory.aclose()
    return first_s, taken


async def _in_turns(
    path: Path, embedder: OnnxEmbedder, questions: Sequence[str], rows: int
) -> tuple[list[float], list[float]]:
    """CPU time of recalls, and of bare products of a matrix of 32-bit floats with one vector.

    They take turns, so that a slow moment of the machine meets both.
    """
    import numpy as np  # noqa: PLC0415 - after the peak was read

    matrix = np.random.default_rng(1).standard_normal((rows, embedder.dimensions), np.float32)
    vector = matrix[0].copy()
    memory = SqliteMemory(path, embedder, SystemClock())
    await _recalled_s(memory, questions[0])
    await _vectors_read(memory)
    recalls_s, products_s = [], []
    for question in questions * _ROUNDS:
        recalls_s.append(await _recalled_s(memory, question))
        began_s = time.process_time()
        matrix @ vector  # only its time matters
        products_s.append(time.process_time() - began_s)
    await memory.aclose()
    return recalls_s, products_s


async def _vectors_read(memory: SqliteMemory) -> None:
    while memory.is_reading_vectors:  # noqa: ASYNC110 - the memory has no event for it
        await asyncio.sleep(_LOOK_S)


async def _recalled_s(memory: SqliteMemory, question: str) -> float:
    # CPU of every thread: what others do on these cores takes none of it
    began_s = time.process_time()
    await memory.recall(question, _LIMIT, OWNER)
    return time.process_time() - began_s


async def _embedded_s(embedder: OnnxEmbedder, question: str) -> float:
    began_s = time.process_time()
    await embedder.embed([question], asked=True)
    return time.process_time() - began_s


def _rows(path: Path) -> int:
    import sqlite3  # noqa: PLC0415 - only here

    with closing(sqlite3.connect(path)) as db:
        (count,) = db.execute("SELECT count(*) FROM memories").fetchone()
    return int(count)


def _forget_peak() -> None:
    """Count the peak from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def _status_kb(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise RuntimeError(f"the kernel tells no {name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
