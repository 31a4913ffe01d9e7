"""Cold start: the first answer of a store that is opened by a new process.

Once as an agent that was stopped left it, and once as after a power cut, when it is checked before
it answers. Texts and vectors are made; the model is the real one. The file is not in the cache of
the system.
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
from dataclasses import dataclass
from pathlib import Path

from agent.embeddings.onnx import OnnxEmbedder
from agent.memory import rows
from agent.memory.base import CONVERSATION, Scope
from agent.memory.brain import MIGRATIONS
from agent.memory.rows import MemoryDraft
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.storage import clean_end
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from agent.system.clock import SystemClock
from scripts.lib.bench.table import Row

# Of the processor, and of the clock where no others use the cores
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
# Of the fields behind the name of a process: when it began
_BEGAN = 19


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of one answer, and those since its process began."""

    wall_s: float
    cpu_s: float
    since_begin_s: float


def measure(memories: int, model: Path) -> list[Row]:
    """The rows of the first answer, each run in a process of its own."""
    # On the disk of this checkout: a folder for temporary files may be in RAM
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as folder:
        path = Path(folder) / "brain.db"
        fill(path, memories, OnnxEmbedder(model).model_id)
        asyncio.run(_used(path, model))
        stopped = _row(f"the first answer after a stop, {memories:,} memories", path, model)
        clean_end.forget(path)
        cut = _row(f"the first answer after a power cut, {memories:,} memories", path, model)
    return [stopped, cut]


def _row(what: str, path: Path, model: Path) -> Row:
    _drop_from_cache(path)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        first, *later = pool.submit(_answered, path, model).result()
    return Row(
        what,
        f"<= {BUDGET_S:g} s, of the clock and of CPU",
        f"{first.wall_s:.2f} s, {first.cpu_s:.2f} s of CPU; {first.since_begin_s:.2f} s after its"
        " process began",
        f"{statistics.median(one.wall_s for one in later):.2f} s for one of the next {len(later)},"
        f" {statistics.median(one.cpu_s for one in later):.2f} s of CPU",
        max(first.wall_s, first.cpu_s) <= BUDGET_S,
    )


async def _used(path: Path, model: Path) -> None:
    """Open and close the store as an agent does."""
    memory = SqliteMemory(path, OnnxEmbedder(model), SystemClock())
    await memory.health_check()
    await memory.aclose()


def _answered(path: Path, model: Path) -> list[Taken]:
    """Return the times of the first answers of this process."""
    return asyncio.run(_asked(path, model))


async def _asked(path: Path, model: Path) -> list[Taken]:
    drawn = random.Random(_QUESTIONS)  # noqa: S311 - the same texts in every run
    memory = SqliteMemory(path, OnnxEmbedder(model), SystemClock())
    taken = []
    for _ in range(1 + _QUESTIONS):
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        if not await memory.recall(_text(drawn, _WORDS_PER_QUESTION), 5, OWNER):
            raise RuntimeError("nothing was found")
        wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
        taken.append(Taken(wall_s, cpu_s, _age_s()))
    await memory.aclose()
    return taken


def _age_s() -> float:
    """Return the seconds since this process began."""
    fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    began_s = int(fields[_BEGAN]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began_s


def fill(path: Path, memories: int, model_id: str, people: int = 1) -> None:
    """Make a store of so many memories with vectors; each of the people has as many."""
    import numpy as np  # noqa: PLC0415 - a started agent has not loaded it either

    from agent.memory.vectors import encode  # noqa: PLC0415 - the same

    drawn, directions = random.Random(memories), np.random.default_rng(memories)  # noqa: S311 - as above
    with closing(open_database(path, MIGRATIONS, SMALL_PAGE_BYTES)) as db:
        for start in range(0, memories, _BATCH):
            db.execute("BEGIN")
            for number in range(start, min(start + _BATCH, memories)):
                session = f"terminal:{number // _TEXTS_PER_SESSION}"
                whose = number % people
                draft = MemoryDraft(
                    f"n{number}",
                    _text(drawn, _WORDS_PER_TEXT),
                    CONVERSATION,
                    Scope(f"p{whose}" if whose else "owner", session),
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
