"""Cold start: the first answer of a store that is opened by a new process.

Texts and vectors are made; the model is the real one. The file is not in the cache of the system.
"""

import asyncio
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

from agent.embeddings.onnx import OnnxEmbedder
from agent.memory import rows
from agent.memory.base import CONVERSATION, Scope
from agent.memory.brain import MIGRATIONS
from agent.memory.rows import MemoryDraft
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from agent.system.clock import SystemClock
from scripts.lib.bench.table import Row

# Cores that others use take wall time, and none of the processor's
BUDGET_S = 2.0
OWNER = Scope("owner")
_DIMENSIONS = 384
_TOKEN_BYTES = 250
_WORDS = 30_000
# Most words are rare, and some are everywhere
_SKEW = 0.55
_WORDS_PER_TEXT = 12
_WORDS_PER_QUESTION = 6
_TEXTS_PER_SESSION = 50
# Memories of one commit
_BATCH = 500
_QUESTIONS = 10


def measure(memories: int, model: Path) -> Row:
    """The row of the first answer, each run in a process of its own."""
    # On the disk of this checkout: a folder for temporary files may be in RAM
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as folder:
        path = Path(folder) / "brain.db"
        _fill(path, memories, OnnxEmbedder(model).model_id)
        _drop_from_cache(path)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            taken = pool.submit(_answered, path, model).result()
    (wall_s, cpu_s), *later = taken
    return Row(
        f"the first answer after a start, {memories:,} memories",
        f"<= {BUDGET_S:g} s of CPU",
        f"{cpu_s:.2f} s of CPU, {wall_s:.2f} s of wall time",
        f"{statistics.median(cpu for _, cpu in later):.2f} s of CPU for one of the next"
        f" {len(later)}, {statistics.median(wall for wall, _ in later):.2f} s of wall time",
        cpu_s <= BUDGET_S,
    )


def _answered(path: Path, model: Path) -> list[tuple[float, float]]:
    """Return wall and CPU seconds of the first answers of this process."""
    return asyncio.run(_asked(path, model))


async def _asked(path: Path, model: Path) -> list[tuple[float, float]]:
    drawn = random.Random(_QUESTIONS)  # noqa: S311 - the same texts in every run
    memory = SqliteMemory(path, OnnxEmbedder(model), SystemClock())
    taken = []
    for _ in range(1 + _QUESTIONS):
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        if not await memory.recall(_text(drawn, _WORDS_PER_QUESTION), 5, OWNER):
            raise RuntimeError("nothing was found")
        taken.append((time.perf_counter() - wall_s, time.process_time() - cpu_s))
    await memory.aclose()
    return taken


def _fill(path: Path, memories: int, model_id: str) -> None:
    import numpy as np  # noqa: PLC0415 - a started agent has not loaded it either

    from agent.memory.vectors import encode  # noqa: PLC0415 - the same

    drawn, directions = random.Random(memories), np.random.default_rng(memories)  # noqa: S311 - as above
    with closing(open_database(path, MIGRATIONS, SMALL_PAGE_BYTES)) as db:
        for start in range(0, memories, _BATCH):
            db.execute("BEGIN")
            for number in range(start, min(start + _BATCH, memories)):
                session = f"terminal:{number // _TEXTS_PER_SESSION}"
                draft = MemoryDraft(
                    f"n{number}",
                    _text(drawn, _WORDS_PER_TEXT),
                    CONVERSATION,
                    Scope("owner", session),
                    Provenance.OWNER,
                )
                memory_id = rows.put(db, draft, float(number)).memory_id
                vector = directions.standard_normal(_DIMENSIONS, np.float32)
                vector /= np.linalg.norm(vector)
                tokens = directions.bytes(_TOKEN_BYTES)
                rows.put_vector(db, memory_id, model_id, encode(vector), tokens)
            db.execute("COMMIT")


def _text(drawn: random.Random, words: int) -> str:
    return " ".join(f"w{int(drawn.paretovariate(_SKEW)) % _WORDS}" for _ in range(words))


def _drop_from_cache(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
