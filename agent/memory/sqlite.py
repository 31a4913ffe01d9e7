"""Long-term memory in one SQLite file: words and, where there is a model, vectors.

What `store` returned is durable. Embedding happens before and outside of the database; its
absence only leaves recall to words, and what was stored without it is embedded later.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.clock import Clock
from agent.embeddings.base import Embedder
from agent.errors import EmbedderUnavailable, MemoryUnavailable
from agent.memory import facts, rows, search
from agent.memory.base import (
    CORE,
    MAX_CONTENT_CHARS,
    MAX_KEY_CHARS,
    MAX_SOURCE_CHARS,
    MemoryEntry,
    MemoryStats,
    Scope,
)
from agent.memory.brain import Brain
from agent.memory.keys import key_of, searched_text
from agent.memory.rows import Draft, Unembedded
from agent.memory.search import Question
from agent.memory.survey import survey
from agent.messages import Provenance

if TYPE_CHECKING:
    from agent.memory.vectors import Vector, VectorIndex

_log = logging.getLogger(__name__)

# Loading the model on the slowest board takes some 2 s; a store or recall goes on without
EMBED_TIMEOUT_S = 5.0
# Memories embedded at a time when a model is new: a question waits for no more than one batch
FILL_BATCH = 8
_EVERYTHING = "*"
_EVERYBODY = Scope()

# Inside the class, `list` is a method
_Entries = list[MemoryEntry]


class SqliteMemory:
    """Memories in one file.

    Args:
        path: the database, opened on first use; its folder is made.
        embedder: may have no model, now or ever.
    """

    name = "sqlite"

    def __init__(self, path: Path, embedder: Embedder, clock: Clock) -> None:
        self._brain = Brain(path)
        self._embedder = embedder
        self._clock = clock
        self._index: VectorIndex | None = None
        # Until a look has shown that every memory has its vector
        self._may_lack_vectors = True
        self._filling: asyncio.Task[None] | None = None

    async def store(
        self,
        key: str,
        content: str,
        *,
        category: str = CORE,
        scope: Scope = _EVERYBODY,
        provenance: Provenance = Provenance.WEB,
        source: str = "",
    ) -> MemoryEntry:
        """Keep a memory durably; an empty key is made from the content."""
        key, content = _clean(key), _clean(content)
        if len(content) > MAX_CONTENT_CHARS or len(key) > MAX_KEY_CHARS:
            raise MemoryUnavailable(
                f"a memory has at most {MAX_CONTENT_CHARS} characters, its key {MAX_KEY_CHARS}"
            )
        source = _clean(source)[:MAX_SOURCE_CHARS]
        draft = Draft(key or key_of(content), content, category, scope, provenance, source)
        vector = await self._vector(searched_text(draft.key, draft.content))
        self._may_lack_vectors |= vector is None
        return await self._brain.run(lambda db: self._put(db, draft, vector))

    async def recall(self, query: str, limit: int, scope: Scope) -> _Entries:
        """The most relevant first; `ranking.relevance` says what a score means."""
        query = _clean(query).strip()
        if query in {"", _EVERYTHING}:
            return await self.list(replace(scope, session=None), limit=limit)
        vector = await self._vector(query)
        return await self._brain.run(lambda db: self._find(db, query, vector, limit, scope))

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return await self._brain.run(lambda db: rows.get(db, _clean(key), scope))

    async def list(self, scope: Scope, category: str | None = None, limit: int = 100) -> _Entries:
        return await self._brain.run(lambda db: rows.newest(db, scope, category, limit))

    async def forget(self, key: str, scope: Scope) -> bool:
        """Only the owner's; what others share here is not theirs to forget."""
        return await self._brain.run(lambda db: self._forget(db, _clean(key), scope))

    async def count(self, scope: Scope | None = None) -> int:
        return await self._brain.run(lambda db: rows.count(db, scope))

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        """Everything, in the order of the ids; read in pages, between which others may write."""
        last_id = 0
        while page := await self._brain.run(partial(rows.page, after_id=last_id)):
            for entry in page:
                yield entry
            last_id = page[-1].memory_id

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        """Its vector is made again in the background."""
        self._may_lack_vectors = True
        return await self._brain.run(lambda db: self._put_back(db, entry))

    async def remember_snapshot(self, digest: str) -> None:
        """That snapshot has everything that is here: at the next start nothing comes back."""
        await self._brain.run(partial(facts.remember_snapshot, digest=digest))

    async def stats(self) -> MemoryStats:
        return await self._brain.run(lambda db: survey(db, self.name))

    async def health_check(self) -> bool:
        try:
            await self.count()
        except MemoryUnavailable:
            return False
        return True

    async def aclose(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)
        await self._brain.aclose()

    def _put(self, db: sqlite3.Connection, draft: Draft, vector: "Vector | None") -> MemoryEntry:
        entry = rows.put(db, draft, self._clock.wall_s())
        if vector is not None:
            self._put_vector(db, entry.memory_id, entry.scope.owner, vector)
        elif self._index is not None:
            self._index.discard(entry.memory_id)
        return entry

    def _put_back(self, db: sqlite3.Connection, entry: MemoryEntry) -> MemoryEntry:
        # What it replaces may be in the index, by an id of its own
        self._index = None
        return rows.restore(db, entry)

    def _find(
        self, db: sqlite3.Connection, query: str, vector: "Vector | None", limit: int, scope: Scope
    ) -> _Entries:
        question = Question(query, scope)
        if vector is not None:
            index = self._current_index(vector)
            index.sync(db, self._brain.failures)
            question = Question(query, scope, index.search(vector, scope.owners))
        return search.find(db, question, limit)

    def _forget(self, db: sqlite3.Connection, key: str, scope: Scope) -> bool:
        forgotten = rows.forget(db, key, scope)
        if forgotten is None:
            return False
        if forgotten.revived:
            # They come back into the index from the table, and perhaps without a vector
            self._index = None
            self._may_lack_vectors = True
        elif self._index is not None:
            self._index.discard(forgotten.memory_id)
        return True

    async def _vector(self, text: str) -> "Vector | None":
        """The text's vector, or None where words must do."""
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                vectors = await self._embedder.embed([text])
        except EmbedderUnavailable as err:
            _log.debug("words alone: %s", err)
            return None
        except TimeoutError:
            _log.warning("the embedding model took longer than %s s", EMBED_TIMEOUT_S)
            return None
        self._fill_in_background()
        vector: Vector = vectors[0]
        return vector

    def _fill_in_background(self) -> None:
        """Embed what was stored without this model; one task, ended by `aclose`."""
        is_running = self._filling is not None and not self._filling.done()
        if self._may_lack_vectors and not is_running:
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        filled = 0
        self._may_lack_vectors = False
        try:
            while batch := await self._brain.run(self._unembedded):
                async with asyncio.timeout(EMBED_TIMEOUT_S):
                    vectors = await self._embedder.embed([row.text for row in batch])
                new = list(zip(batch, vectors, strict=True))
                await self._brain.run(partial(self._put_vectors, new=new))
                filled += len(batch)
        except (EmbedderUnavailable, MemoryUnavailable, TimeoutError) as err:
            _log.warning("not every memory was embedded: %s", err)
            self._may_lack_vectors = True
        if filled:
            _log.info("%s memories were embedded by %s", filled, self._embedder.model_id)

    def _unembedded(self, db: sqlite3.Connection) -> Sequence[Unembedded]:
        return rows.unembedded(db, self._embedder.model_id, FILL_BATCH)

    def _put_vectors(
        self, db: sqlite3.Connection, new: "Sequence[tuple[Unembedded, Vector]]"
    ) -> None:
        for row, vector in new:
            if rows.still_holds(db, row):
                self._put_vector(db, row.memory_id, row.owner, vector)

    def _put_vector(
        self, db: sqlite3.Connection, memory_id: int, owner: str, vector: "Vector"
    ) -> None:
        from agent.memory.vectors import encode  # noqa: PLC0415 - numpy, once there are vectors

        rows.put_vector(db, memory_id, self._embedder.model_id, encode(vector))
        self._current_index(vector).put(memory_id, owner, vector)

    def _current_index(self, vector: "Vector") -> "VectorIndex":
        from agent.memory.vectors import VectorIndex  # noqa: PLC0415 - numpy, on first use

        model = self._embedder.model_id
        if self._index is None or self._index.model != model:
            self._index = VectorIndex(model, len(vector))
        return self._index


def _clean(text: str) -> str:
    """Text that a database can hold: lone surrogates become question marks."""
    return text.encode(errors="replace").decode()
