"""Recall from a large store in a fresh process: its time against a bare product, and its RSS."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.embeddings.base import TextPassage
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory import closeness, rows
from agent.memory.base import CONVERSATION, Scope
from agent.memory.schema import MIGRATIONS
from agent.memory.vectors import encode
from agent.messages import Provenance
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.table import Row

ROOT = Path(__file__).resolve().parents[3]
RECALL_BUDGET = 3.0
RSS_BUDGET_MB = 120
# Texts that are embedded; the others are variations of them
_ORIGINALS = 2_000
_BATCH = 5_000
_QUESTIONS = 40
_NOISE = 0.02
_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class _Original:
    text: str
    session: str | None
    vector: Any
    tokens: bytes | None


def measure(dataset: Dataset, model: Path, number: int) -> list[Row]:
    """The rows of latency and memory at so many memories."""
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as name:
        folder = Path(name)
        asyncio.run(_build(folder / "large.db", dataset, model, number))
        found = _measured(folder, dataset, model)
    ratio = found["recall_ms"] / found["product_ms"]
    over_mb = found["rss_over_empty_mb"]
    return [
        Row(
            f"recall p50 at {number:,} memories, CPU",
            f"<= {RECALL_BUDGET:g}x the bare product",
            f"{ratio:.2f}x ({found['recall_ms']:.1f} ms, {found['embed_ms']:.1f} of it embedding)",
            f"{found['product_ms']:.1f} ms (numpy, floats, one thread);"
            f" first {found['first_ms']:.0f} ms of wall time",
            ratio <= RECALL_BUDGET,
        ),
        Row(
            f"peak RSS at {number:,} memories",
            f"<= {RSS_BUDGET_MB} MB over an empty agent",
            f"{over_mb:.0f} MB",
            "fresh process, model loaded, after recalls from an empty store",
            over_mb <= RSS_BUDGET_MB,
        ),
    ]


def _measured(folder: Path, dataset: Dataset, model: Path) -> dict[str, float]:
    step = max(1, len(dataset.queries) // _QUESTIONS)
    questions = [query.text for query in dataset.queries[::step]][:_QUESTIONS]
    (folder / "questions.json").write_text(json.dumps(questions))
    paths = [folder / "empty.db", folder / "large.db", model, folder / "questions.json"]
    command = [sys.executable, str(ROOT / "scripts" / "lib"), "bench.crowd_process"]
    done = subprocess.run(
        [*command, *map(str, paths)],
        check=True,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        # A question is answered by one thread: what it is compared with is too
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


async def _build(path: Path, dataset: Dataset, model: Path, number: int) -> None:
    began_s = time.monotonic()
    embedder = OnnxEmbedder(model)
    originals = await _originals(dataset, embedder)
    await embedder.aclose()
    database = open_database(path, MIGRATIONS, SMALL_PAGE_BYTES)
    database.execute("PRAGMA synchronous = OFF")
    for start in range(0, number, _BATCH):
        database.execute("BEGIN")
        for place in range(start, min(start + _BATCH, number)):
            _put(database, originals[place % len(originals)], place, embedder.model_id)
        database.execute("COMMIT")
        print(f"  {start + _BATCH:,} memories, {time.monotonic() - began_s:.0f} s", flush=True)
    database.close()


async def _originals(dataset: Dataset, embedder: OnnxEmbedder) -> list[_Original]:
    documents = dataset.documents[:_ORIGINALS]
    read = await embedder.read([TextPassage(one.text) for one in documents])
    return [
        _Original(one.text, one.session, reading.vector, closeness.packed(reading.tokens))
        for one, reading in zip(documents, read, strict=True)
    ]


def _put(database: Any, original: _Original, place: int, model: str) -> None:
    import numpy as np  # noqa: PLC0415 - after the embedder has loaded it

    session = None if original.session is None else f"{original.session}/{place // _ORIGINALS}"
    draft = rows.MemoryDraft(
        f"k{place}",
        f"{original.text} {place}",
        CONVERSATION,
        Scope("owner", session=session),
        Provenance.OWNER,
    )
    entry = rows.put(database, draft, 1.7e9 + place)
    noise = np.random.default_rng(place).standard_normal(len(original.vector)) * _NOISE
    vector = (original.vector + noise).astype(np.float32)
    vector /= np.linalg.norm(vector)
    rows.put_vector(database, entry.memory_id, model, encode(vector), original.tokens)
