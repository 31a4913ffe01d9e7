"""Vectors of memories: made by the model, kept beside the memories, compared in RAM.

Embedding happens outside of the database. What was stored without the model is embedded in the
background once it is there. Importing this loads no numpy.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.embeddings.base import Embedder, PassageReading, TextPassage, readings
from agent.errors import EmbedderUnavailable, MemoryUnavailable
from agent.memory import rows, sessions
from agent.memory.brain import Brain
from agent.memory.rows import Unembedded
from agent.memory.search import MemoryQuestion

if TYPE_CHECKING:
    from agent.memory.vectors import VectorIndex

_log = logging.getLogger(__name__)

# Loading the model on the slowest board takes some 2 s; a store or recall goes on without
EMBED_TIMEOUT_S = 5.0
# Memories embedded at a time when a model is new: a question waits for no more than one batch
FILL_BATCH = 8
# How often the log says how far it is: every minute or so on a small board
PROGRESS_EVERY = 500
# Vectors read at a time: less than half a second on a small board, for which a question may wait
READ_PIECE = 8192


class MemoryVectors:
    """Vectors of one database."""

    def __init__(self, embedder: Embedder, brain: Brain) -> None:
        self._embedder = embedder
        self._brain = brain
        self._index: VectorIndex | None = None
        # The index has all of the table, as it was then
        self._is_whole = False
        self._read_at: tuple[int, int] | None = None
        self._reading: asyncio.Task[None] | None = None
        # Until a look has shown that every memory has its vector
        self._may_lack_vectors = True
        # The model has read something: what it has not read yet it can
        self._knows_model = False
        self.filling: asyncio.Task[None] | None = None
        # Memories that words alone find until their vectors are made
        self.lacking = 0

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    async def read(
        self, text: str, before: str = "", *, asked: bool = False
    ) -> PassageReading | None:
        """Return the model's reading of a text, or None if words must do."""
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                [reading] = await readings(self._embedder, [TextPassage(text, before)], asked=asked)
        except EmbedderUnavailable as err:
            _log.debug("memory: recall by words alone: %s", err)
            return None
        except TimeoutError:
            _log.warning("memory: embedding model too slow (limit_s=%s)", EMBED_TIMEOUT_S)
            return None
        self._knows_model = True
        if not asked:
            # A question is answered first
            self._fill_in_background()
        return reading

    def put(
        self,
        db: sqlite3.Connection,
        memory_id: int,
        owner: str,
        reading: PassageReading | None,
        length: int = 0,
    ) -> None:
        """Keep a memory's vector; without one it is made later."""
        if reading is None:
            self.discard(memory_id)
            self._may_lack_vectors = True
            return
        from agent.memory import closeness  # noqa: PLC0415 - numpy, once there are vectors
        from agent.memory.vectors import encode  # noqa: PLC0415 - the same

        packed = closeness.packed(reading.tokens)
        model = self._embedder.model_id
        rows.put_vector(db, memory_id, model, encode(reading.vector), packed)
        if self._index is not None and self._index.model == model:
            self._index.put(memory_id, owner, reading.vector, length)

    def discard(self, memory_id: int) -> None:
        if self._index is not None:
            self._index.discard(memory_id)

    def reload(self) -> None:
        """Read the table again, because memories changed by other ways."""
        self._index = None
        self._may_lack_vectors = True

    def compared(
        self, db: sqlite3.Connection, question: MemoryQuestion, reading: PassageReading | None
    ) -> MemoryQuestion:
        """Return the question with what the model says to it, if all vectors are read."""
        if reading is None:
            return question
        index = self._current_index(db, len(reading.vector))
        if not self._is_whole:
            # All of a small store is one piece: it has no time without
            self._read_on(db)
        if not self._is_whole:
            return question
        similar = index.search(reading.vector, question.scope.owners)
        return replace(question, similar=similar, reading=reading, model=self.model_id)

    @property
    def is_whole(self) -> bool:
        """Return true if all vectors were read, which a question then need not ask the database."""
        return self._is_whole

    @property
    def is_reading(self) -> bool:
        return self._reading is not None and not self._reading.done()

    def are_at_hand(self, db: sqlite3.Connection) -> bool:
        """Return true if a question can be compared: all are read, or one piece has them all."""
        return self._is_whole or not rows.are_more(db, READ_PIECE)

    def work_in_background(self, question: str = "") -> None:
        """Read a large store in pieces and embed what has no vector, in tasks that `aclose` ends.

        Args:
            question: was answered by words because they are not at hand; the model is loaded by it.
        """
        if (question or self._index is not None) and not self._is_whole and not self.is_reading:
            self._reading = asyncio.create_task(self._read_rest(question))
        self._fill_in_background()

    async def aclose(self) -> None:
        for task in (self.filling, self._reading):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _read_rest(self, question: str) -> None:
        began_s = time.monotonic()
        try:
            if question:
                reading = await self.read(question, asked=True)
                if reading is None:
                    return
                dimensions = len(reading.vector)
                await self._brain.look(lambda db: self._current_index(db, dimensions))
            while not self._is_whole and self._index is not None:
                await self._brain.look(self._read_on)
        except MemoryUnavailable as err:
            _log.warning("memory: vectors not read (error=%s)", err)
            return
        _log.info("memory: vectors read (took_s=%.1f)", time.monotonic() - began_s)
        self._fill_in_background()

    def _read_on(self, db: sqlite3.Connection) -> None:
        if self._index is not None:
            self._is_whole = self._index.read_on(db, READ_PIECE)

    def _fill_in_background(self) -> None:
        """Embed memories without a vector of this model, in one task that `aclose` ends."""
        is_running = self.filling is not None and not self.filling.done()
        if self._knows_model and self._may_lack_vectors and not is_running:
            self.filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        filled = 0
        self._may_lack_vectors = False
        try:
            self.lacking = await self._brain.run(self._count_lacking)
            if not self.lacking:
                return
            if self.lacking > FILL_BATCH:
                _log.info(
                    "memory: embedding (memories=%s, model=%s)",
                    self.lacking,
                    self._embedder.model_id,
                )
            while batch := await self._brain.run(self._unembedded):
                async with asyncio.timeout(EMBED_TIMEOUT_S):
                    new = await readings(self._embedder, [passage for _, passage in batch])
                memories = [row for row, _ in batch]
                await self._brain.run(partial(self._put_all, memories=memories, new=new))
                filled += len(batch)
                self.lacking = max(0, self.lacking - len(batch))
                if filled % PROGRESS_EVERY < FILL_BATCH <= filled:
                    _log.info("memory: embedding (done=%s, left=%s)", filled, self.lacking)
            self.lacking = 0
        except (EmbedderUnavailable, MemoryUnavailable, TimeoutError) as err:
            _log.warning("memory: embedding stopped early: %s", err)
            self._may_lack_vectors = True
        if filled:
            _log.info(
                "memory: embedding done (memories=%s, model=%s)", filled, self._embedder.model_id
            )

    def _count_lacking(self, db: sqlite3.Connection) -> int:
        return rows.count_unembedded(db, self._embedder.model_id)

    def _unembedded(self, db: sqlite3.Connection) -> list[tuple[Unembedded, TextPassage]]:
        lacking = rows.unembedded(db, self._embedder.model_id, FILL_BATCH)
        return [
            (row, TextPassage(row.text, sessions.said_before(db, row.memory_id))) for row in lacking
        ]

    def _put_all(
        self, db: sqlite3.Connection, memories: Sequence[Unembedded], new: Sequence[PassageReading]
    ) -> None:
        for row, reading in zip(memories, new, strict=True):
            if rows.still_holds(db, row):
                self.put(db, row.memory_id, row.owner, reading, len(row.content))

    def _current_index(self, db: sqlite3.Connection, dimensions: int) -> "VectorIndex":
        """Return the index; a new one if another program or a failed write changed the table."""
        from agent.memory.vectors import VectorIndex  # noqa: PLC0415 - numpy, on first use

        (version,) = db.execute("PRAGMA data_version").fetchone()
        now = (version, self._brain.failures)
        model = self._embedder.model_id
        if self._index is None or self._index.model != model or self._read_at != now:
            # A command stores memories without a model
            self._may_lack_vectors = True
            # Two at a time would not fit a small board
            self._index, self._is_whole, self._read_at = VectorIndex(model, dimensions), False, now
        return self._index
