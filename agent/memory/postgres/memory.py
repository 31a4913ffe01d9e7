"""Long-term memory in a PostgreSQL server, which several agents can share.

Meaning is searched where the server has pgvector, elsewhere it ranks what words have found; slips
of the finger are met by trigrams where it has pg_trgm. Embedding happens here, outside of every
transaction.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from agent.config import Secret
from agent.embeddings.base import Embedder, PassageReading, TextPassage, readings
from agent.errors import EmbedderUnavailable, MemoryUnavailable
from agent.memory.base import (
    CORE,
    MAX_CONTENT_CHARS,
    MAX_KEY_CHARS,
    MAX_SOURCE_CHARS,
    MemoryEntry,
    MemoryStats,
    Scope,
    StoreLimits,
    Tidied,
)
from agent.memory.curation import MAX_COMPARED, Marks
from agent.memory.keys import key_of, searched_text
from agent.memory.postgres import curation, forgetting, locks, neighbours, rows, vectors
from agent.memory.postgres.question import PostgresQuestion
from agent.memory.postgres.record import name_of, restored
from agent.memory.postgres.rows import PostgresDraft
from agent.memory.postgres.search import find
from agent.memory.postgres.server import BrainServer
from agent.memory.postgres.tombstones import PostgresTombstones
from agent.memory.understanding import is_understood
from agent.messages import Provenance
from agent.storage.postgres.pipeline import Connection
from agent.system.clock import Clock

_TOTALS = """
SELECT count(*) FILTER (WHERE superseded_by IS NULL),
    count(*) FILTER (WHERE superseded_by IS NOT NULL), count(*) FILTER (WHERE pinned),
    pg_total_relation_size('memories') FROM memories
"""
_KINDS = """
SELECT category, provenance, count(*) FROM memories WHERE superseded_by IS NULL GROUP BY 1, 2
"""


async def survey(connection: Connection, name: str) -> MemoryStats:
    """Return the numbers of everybody's memories together."""
    totals = await (await connection.execute(_TOTALS)).fetchone()
    assert totals is not None
    kept, superseded, pinned, size_bytes = (int(str(number)) for number in totals)
    categories: dict[str, int] = {}
    provenances: dict[Provenance, int] = {}
    for category, provenance, number in await (await connection.execute(_KINDS)).fetchall():
        named = restored(category)
        said = Provenance.__members__.get(str(provenance).upper(), Provenance.WEB)
        categories[named] = categories.get(named, 0) + int(str(number))
        provenances[said] = provenances.get(said, 0) + int(str(number))
    return MemoryStats(name, kept, superseded, pinned, size_bytes, categories, provenances)


_log = logging.getLogger(__name__)

R = TypeVar("R")

# Loading the model on the slowest board takes some 2 s; a store or recall goes on without
EMBED_TIMEOUT_S = 5.0
# Memories embedded at a time where they were stored without this model
FILL_BATCH = 8
_DAY_S = 86_400
_EVERYTHING = "*"
_EVERYBODY = Scope()

_Entries = list[MemoryEntry]
_Keys = list[str]


class PostgresMemory:
    """Memories in one database that others may use too.

    Args:
        folder: of what this agent knows for itself, its tombstones; None where there is none.
    """

    name = "postgres"

    def __init__(
        self, url: Secret, embedder: Embedder, clock: Clock, folder: Path | None = None
    ) -> None:
        self._tombstones = PostgresTombstones(folder)
        self._server = BrainServer(url, clock, self._tombstones.finish)
        self._embedder = embedder
        self._clock = clock
        self._filling: asyncio.Task[None] | None = None
        # Until a look has shown that every memory has its vector
        self._may_lack_vectors = True

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
        key, content, source = _clean(key), _clean(content), _clean(source)
        if len(content) > MAX_CONTENT_CHARS or len(key) > MAX_KEY_CHARS:
            raise MemoryUnavailable(
                f"a memory has at most {MAX_CONTENT_CHARS} characters, its key {MAX_KEY_CHARS}"
            )
        source = source[:MAX_SOURCE_CHARS]
        draft = PostgresDraft(key or key_of(content), content, category, scope, provenance, source)
        before = await self._said_before(scope)
        reading = await self._read(searched_text(draft.key, draft.content), before)
        self._may_lack_vectors |= reading is None
        return await self._server.run(partial(self._put, draft=draft, reading=reading))

    async def recall(self, query: str, limit: int, scope: Scope) -> _Entries:
        query = _clean(query).strip()
        if query in {"", _EVERYTHING}:
            return await self.list(replace(scope, session=None), limit=limit)
        reading = await self._read(query, asked=True)
        self._fill_in_background(knows_model=reading is not None)
        if not is_understood(query, reading):
            reading = None
        model = self._embedder.model_id
        question = PostgresQuestion(query, scope, reading, model, self._clock.wall_s())
        return await self._server.look(partial(self._find, question=question, limit=limit))

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return await self._server.look(partial(rows.get, key=_clean(key), scope=scope))

    async def list(self, scope: Scope, category: str | None = None, limit: int = 100) -> _Entries:
        return await self._server.look(
            partial(rows.newest, scope=scope, category=category, limit=limit)
        )

    async def forget(self, key: str, scope: Scope) -> bool:
        return await self._renewing(partial(self._forget, key=_clean(key), scope=scope))

    async def count(self, scope: Scope | None = None) -> int:
        return await self._server.look(partial(rows.count, scope=scope))

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        last_id = 0
        while page := await self._server.look(partial(rows.page, after_id=last_id)):
            for entry in page:
                yield entry
            last_id = page[-1].memory_id

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        self._may_lack_vectors = True
        return await self._server.run(partial(self._put_back, entry=entry))

    async def mark(
        self,
        key: str,
        scope: Scope,
        *,
        pinned: bool | None = None,
        importance: float | None = None,
        said_at_s: float | None = None,
    ) -> bool:
        return await self._server.run(
            partial(
                curation.mark,
                key=_clean(key),
                scope=scope,
                marks=Marks(pinned, importance, said_at_s),
            )
        )

    async def supersede(self, old_key: str, new_key: str, scope: Scope) -> bool:
        old_key, new_key = _clean(old_key), _clean(new_key)
        return await self._server.run(
            partial(curation.supersede, old_key=old_key, new_key=new_key, scope=scope)
        )

    async def pinned(self, scope: Scope) -> _Entries:
        return await self._server.look(partial(rows.pinned, scope=scope))

    async def about(self, thing: str, scope: Scope) -> _Entries:
        return await self._server.look(partial(curation.timeline, thing=_clean(thing), scope=scope))

    async def doomed(self, key: str, scope: Scope) -> _Entries:
        return await self._server.look(partial(forgetting.doomed, key=_clean(key), scope=scope))

    async def former(self, entry: MemoryEntry) -> _Entries:
        return await self._server.look(partial(curation.former, entry=entry))

    async def settle(self, entry: MemoryEntry) -> _Keys:
        from agent.memory import contradiction, statement  # noqa: PLC0415 - many patterns

        if statement.statement_of(entry.content) is None:
            return []
        known = await self.list(replace(entry.scope, session=None), None, MAX_COMPARED)
        return await contradiction.settle(self, known, entry)

    async def with_former(self, found: _Entries, question: str) -> _Entries:
        from agent.memory import contradiction  # noqa: PLC0415 - turns alone need it

        return await contradiction.with_former(self, found, question)

    async def revive(self, key: str, scope: Scope) -> bool:
        return await self._server.run(partial(curation.revive, key=_clean(key), scope=scope))

    async def forget_source(self, source: str, scope: Scope) -> int:
        return await self._renewing(
            partial(self._forget_source, source=_clean(source), scope=scope)
        )

    async def rebuild(self) -> int:
        rebuilt, last_id = 0, 0
        while page := await self._server.run(partial(curation.rebuild, after_id=last_id)):
            rebuilt, last_id = rebuilt + len(page), page[-1]
        self._may_lack_vectors = True
        return rebuilt

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        """Tidy in batches; several agents may do so at once."""
        before_s = now_s - limits.conversation_days * _DAY_S
        pruned = await self._until_done(partial(curation.prune, before_s=before_s))
        merged = await self._server.run(curation.merge)
        evict = partial(curation.evict, max_memories=limits.max_memories)
        return Tidied(pruned, merged, await self._until_done(evict))

    async def stats(self) -> MemoryStats:
        stats = await self._server.look(partial(survey, name=self.name))
        return replace(stats, details=self._details())

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
        await self._server.aclose()

    async def _until_done(self, job: Callable[[Connection], Awaitable[int]]) -> int:
        whole = 0
        while number := await self._server.run(job):
            whole += number
        return whole

    def _details(self) -> dict[str, str]:
        can = self._server.abilities
        return {
            "words": "by stems and trigrams (pg_trgm)" if can.trigrams else "by stems: no pg_trgm",
            "meaning": "by pgvector" if can.vectors else "of what words find: no pgvector",
        }

    async def _renewing(self, job: Callable[[Connection], Awaitable[R]]) -> R:
        """Run a job; when it fails, what it has noted is finished on a new connection."""
        try:
            return await self._server.run(job)
        except BaseException:
            self._server.renew()
            raise

    async def _forget(self, connection: Connection, key: str, scope: Scope) -> bool:
        await locks.owners(connection, scope.owner)
        found = await forgetting.doomed(connection, key, scope)
        await self._bury(connection, found, scope)
        return bool(found)

    async def _forget_source(self, connection: Connection, source: str, scope: Scope) -> int:
        await locks.owners(connection, scope.owner)
        found = await forgetting.from_source(connection, source, scope)
        await self._bury(connection, found, scope)
        return len(found)

    async def _bury(
        self, connection: Connection, found: Sequence[MemoryEntry], scope: Scope
    ) -> None:
        if not found:
            return
        # What a person said in groups goes there too
        for owner in sorted({entry.scope.owner for entry in found} - {scope.owner}):
            await locks.groups(connection, owner)
        # First: what is deleted and not noted could come back with an older copy of the server
        await self._tombstones.add(connection, found, self._clock.wall_s())
        await forgetting.bury(connection, found)
        # What comes back may lack its vector
        self._may_lack_vectors = True

    async def _put(
        self, connection: Connection, draft: PostgresDraft, reading: PassageReading | None
    ) -> MemoryEntry:
        await locks.owners(connection, draft.scope.owner)
        entry = await rows.put(connection, draft, self._clock.wall_s())
        await self._tombstones.allow(entry)
        can = self._server.abilities
        # The old content's readings say nothing of the new one, whatever their model
        await vectors.drop(connection, entry.memory_id, can)
        if reading is not None:
            model = self._embedder.model_id
            await vectors.put(connection, entry.memory_id, model, reading, can)
        return entry

    async def _put_back(self, connection: Connection, entry: MemoryEntry) -> MemoryEntry:
        # Nobody else gets the number that it comes with
        await locks.everybodys(connection)
        kept = await rows.restore(connection, entry)
        await self._tombstones.allow(kept)
        await vectors.drop(connection, kept.memory_id, self._server.abilities)
        return kept

    async def _find(
        self, connection: Connection, question: PostgresQuestion, limit: int
    ) -> _Entries:
        return await find(connection, question, self._server.abilities, limit)

    async def _said_before(self, scope: Scope) -> str:
        if scope.session is None or not self._embedder.dimensions:
            return ""
        names = (name_of(scope.session), name_of(scope.owner))
        return await self._server.look(
            partial(neighbours.said_before, session=names[0], owner=names[1])
        )

    async def _read(
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
        return reading

    def _fill_in_background(self, *, knows_model: bool) -> None:
        """Embed memories without a vector of this model, in one task that `aclose` ends."""
        is_running = self._filling is not None and not self._filling.done()
        if knows_model and self._may_lack_vectors and not is_running:
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        model = self._embedder.model_id
        try:
            # What others store meanwhile is found at the next start
            self._may_lack_vectors = False
            while batch := await self._server.run(self._unembedded):
                async with asyncio.timeout(EMBED_TIMEOUT_S):
                    new = await readings(self._embedder, [row.passage for row in batch])
                can = self._server.abilities
                for row, reading in zip(batch, new, strict=True):
                    # Each in a transaction of its own: no two of them can wait for each other
                    one = partial(vectors.fill, row=row, model=model, reading=reading)
                    await self._server.run(partial(one, abilities=can))
        except (EmbedderUnavailable, MemoryUnavailable, TimeoutError) as err:
            _log.warning("memory: embedding stopped early: %s", err)
            self._may_lack_vectors = True

    async def _unembedded(self, connection: Connection) -> Sequence[vectors.PostgresUnembedded]:
        return await vectors.unembedded(connection, self._embedder.model_id, FILL_BATCH)


def _clean(text: str) -> str:
    """Return text that a database can hold: lone surrogates become question marks."""
    return text.encode(errors="replace").decode()
