"""Cache around an embedder, by model and content.

What is written is written in batches, so that storing a memory costs no second transaction.
Questions, which hardly come twice, are kept only while the agent runs. Vectors that are damaged
are made again.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agent.embeddings import vectors
from agent.embeddings.base import Embedder
from agent.embeddings.cache_file import CacheFile, Digest
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.embeddings.vectors import Vectors

# New vectors that wait to be written: a kill loses no more work than this
FLUSH_ROWS = 32
# Questions and new vectors at hand: of our own model 0.4 MB
MOST_AT_HAND = 256


class CachedEmbedder:
    """Asks `inner` only for unknown vectors."""

    def __init__(self, inner: Embedder, file: CacheFile, clock: Clock) -> None:
        self._inner = inner
        self._file = file
        self._clock = clock
        # Of which model everything below is
        self._model = ""
        self._at_hand: OrderedDict[Digest, bytes] = OrderedDict()
        self._unwritten: dict[Digest, bytes] = {}
        self._used: set[Digest] = set()

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "Vectors":
        model = await self._current_model()
        if not model or not texts:
            return await self._inner.embed(texts, asked=asked)
        await self._turn_to(model)
        digests = [_digest(text, asked=asked) for text in texts]
        known = await self._known(digests, is_written=not asked)
        missing = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known
        }
        if missing:
            made = await self._inner.embed(list(missing.values()), asked=asked)
            new = {digest: made[row : row + 1] for row, digest in enumerate(missing)}
            known |= new
            # While it was embedding, the files of another model may have come
            if model == self._model == self._inner.model_id:
                await self._learn(new, is_written=not asked)
        return vectors.joined([known[digest] for digest in digests], self._inner.dimensions)

    async def flush(self) -> None:
        """Write what is not written yet."""
        new, used = self._unwritten, self._used
        self._unwritten, self._used = {}, set()
        if new or used:
            await self._file.write(self._model, new, used, self._clock.wall_s())

    async def trim(self) -> int:
        """Write, and let go of the oldest beyond the limit; how many went."""
        await self.flush()
        return await self._file.trim()

    async def aclose(self) -> None:
        await self.flush()
        await self._file.aclose()
        await self._inner.aclose()

    async def _current_model(self) -> str:
        if self._model:
            return self._inner.model_id
        # To tell its name a model may have to be read
        return await asyncio.to_thread(lambda: self._inner.model_id)

    async def _turn_to(self, model: str) -> None:
        if model != self._model:
            await self.flush()
            self._at_hand.clear()
            self._model = model

    async def _known(
        self, digests: Sequence[Digest], *, is_written: bool
    ) -> "dict[Digest, Vectors]":
        found = {digest: self._at_hand[digest] for digest in digests if digest in self._at_hand}
        for digest in found:
            self._at_hand.move_to_end(digest)
        wanted = dict.fromkeys(digest for digest in digests if digest not in found)
        if wanted and is_written:
            stored = await self._file.read(self._model, wanted)
            self._used |= stored.keys()
            found |= stored
        length = self._inner.dimensions
        decoded = {digest: _decoded(blob, length) for digest, blob in found.items()}
        return {digest: row for digest, row in decoded.items() if row is not None}

    async def _learn(self, new: "Mapping[Digest, Vectors]", *, is_written: bool) -> None:
        blobs = {digest: vectors.encoded(row) for digest, row in new.items()}
        self._at_hand |= blobs
        while len(self._at_hand) > MOST_AT_HAND:
            self._at_hand.popitem(last=False)
        if is_written:
            self._unwritten |= blobs
        if len(self._unwritten) >= FLUSH_ROWS:
            await self.flush()


def _digest(text: str, *, asked: bool) -> Digest:
    purpose = b"question" if asked else b"passage"
    return hashlib.sha256(purpose + b"\0" + text.encode(errors="replace")).digest()


def _decoded(blob: bytes, length: int) -> "Vectors | None":
    """None for what is not a vector of that length."""
    try:
        return vectors.unit(vectors.decoded(blob), length)
    except ValueError:
        return None
