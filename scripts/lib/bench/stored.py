"""A durable store against a bare insert into SQLite with the same settings."""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.storage.database import open_database
from agent.system.clock import SystemClock
from scripts.lib.bench.table import Row

BUDGET = 3.0
_TABLE = "CREATE TABLE kept (id INTEGER PRIMARY KEY, content TEXT NOT NULL)"
# Both take turns, so that a slow moment of the machine meets both
_BLOCK = 25
OWNER = Scope("owner")


def measure(texts: Sequence[str]) -> Row:
    """The row of storing, without the embedding, which has a row of its own."""
    # On the disk of this checkout: a folder for temporary files may be in RAM
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as folder:
        store_s, insert_s = asyncio.run(_both(Path(folder), texts))
    store_ms, insert_ms = (statistics.median(one) * 1e3 for one in (store_s, insert_s))
    ratio = store_ms / insert_ms
    return Row(
        "store, durable, p50",
        f"<= {BUDGET:g}x a bare insert, plus the embedding",
        f"{ratio:.2f}x ({store_ms:.2f} ms, {len(store_s)} stores)",
        f"{insert_ms:.2f} ms (same settings, one row, one commit)",
        ratio <= BUDGET,
    )


async def _both(folder: Path, texts: Sequence[str]) -> tuple[list[float], list[float]]:
    memory = SqliteMemory(folder / "brain.db", NoEmbedder(), SystemClock())
    bare = open_database(folder / "bare.db", (_TABLE,))
    store_s: list[float] = []
    insert_s: list[float] = []
    await memory.store("", "the first one makes the tables", scope=OWNER)
    for start in range(0, len(texts), _BLOCK):
        for text in texts[start : start + _BLOCK]:
            began_s = time.perf_counter()
            await memory.store("", text, scope=OWNER)
            store_s.append(time.perf_counter() - began_s)
        insert_s += [_inserted_s(bare, text) for text in texts[start : start + _BLOCK]]
    await memory.aclose()
    bare.close()
    return store_s, insert_s


def _inserted_s(database: sqlite3.Connection, text: str) -> float:
    began_s = time.perf_counter()
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO kept (content) VALUES (?)", [text])
    database.commit()
    return time.perf_counter() - began_s
