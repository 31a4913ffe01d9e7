"""Long-term memory in one SQLite file: words and, where there is a model, vectors.

What `store` returned is durable. Embedding happens before and outside of the database; its
absence only leaves recall to words, and what was stored without it is embedded later.
"""

import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from agent.embeddings.base import Embedder, PassageReading
from agent.errors import MemoryUnavailable
from agent.memory import (
    curation,
    facts,
    forgetting,
    inspection,
    rows,
    search,
    sessions,
    understanding,
)
from agent.memory.base import (
    CORE,
    FROM_CHAT,
    MAX_CONTENT_CHARS,
    MAX_KEY_CHARS,
    MAX_SOURCE_CHARS,
    Inspection,
    MemoryEntry,
    MemoryStats,
    SaidMemory,
    Scope,
    StoreLimits,
    Tidied,
)
from agent.memory.brain import Brain
from agent.memory.curation import evict, hide_duplicates, is_sound, note_tidied, prune
from agent.memory.kept_messages import KeptMessages
from agent.memory.keys import key_of, searched_text
from agent.memory.memory_vectors import MemoryVectors
from agent.memory.rows import MemoryDraft
from agent.memory.search import MemoryQuestion
from agent.messages import Provenance
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

R = TypeVar("R")

_DAY_S = 86_400
_EVERYTHING = "*"
_EVERYBODY = Scope()

# Inside the class, `list` is a method
_Entries = list[MemoryEntry]
_Held = tuple[MemoryEntry | None, _Entries]
Keys = list[str]


class SqliteMemory:
    """Memories in one file.

    Args:
        path: the database, opened on first use; its folder is made.
        embedder: may have no model, now or ever.
    """

    name = "sqlite"

    def __init__(self, path: Path, embedder: Embedder, clock: Clock) -> None:
        self._brain = Brain(path)
        self._meanings = MemoryVectors(embedder, self._brain)
        self._clock = clock
        self._kept = KeptMessages(self._brain)

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
        draft = _sound(MemoryDraft(key, content, category, scope, provenance, source))
        reading = await self._read(draft)
        return await self._brain.run(lambda db: self._put(db, draft, reading))

    async def kept_until(self) -> int | None:
        return await self._kept.until()

    async def held(self, key: str, scope: Scope, newest: int) -> _Held:
        lately = partial(rows.newest, scope=replace(scope, session=None), limit=newest)
        return await self._brain.look(lambda db: (rows.get(db, _clean(key), scope), lately(db)))

    async def keep(self, heard_id: int, said: Sequence[SaidMemory]) -> None:
        """Keep what a message leaves, and its number, in one transaction."""
        told = [(one, draft := _draft_of(one), await self._read(draft)) for one in said]

        def kept(db: sqlite3.Connection) -> None:
            for one, draft, reading in told:
                put = self._put(db, draft, reading)
                marks = curation.Marks(one.pinned or None, None, one.said_at_s)
                curation.mark(db, put.key, put.scope, marks)
                self._close(db, put)

        await self._kept.keep(heard_id, kept)

    async def recall(self, query: str, limit: int, scope: Scope) -> _Entries:
        """Return the most relevant first; `ranking.relevance` explains the score."""
        query = _clean(query).strip()
        if query in {"", _EVERYTHING}:
            return await self.list(replace(scope, session=None), limit=limit)
        question = MemoryQuestion(query, scope, now_s=self._clock.wall_s())
        by_words = None
        if not self._meanings.is_whole:
            by_words = await self._brain.look(lambda db: self._found_by_words(db, question, limit))
        if by_words is not None:
            self._meanings.work_in_background(query)
            return by_words
        reading = await self._meanings.read(query, asked=True)
        if not understanding.is_understood(query, reading):
            reading = None
        found = await self._brain.look(
            lambda db: search.find(db, self._meanings.compared(db, question, reading), limit)
        )
        self._meanings.work_in_background()
        return found

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return await self._brain.look(lambda db: rows.get(db, _clean(key), scope))

    async def list(self, scope: Scope, category: str | None = None, limit: int = 100) -> _Entries:
        return await self._brain.look(lambda db: rows.newest(db, scope, category, limit))

    async def forget(self, key: str, scope: Scope) -> bool:
        """Forget the owner's own memory only; shared ones stay."""
        doomed = partial(forgetting.doomed, key=_clean(key), scope=scope)
        return await self._brain.forget(lambda db: self._bury(db, doomed(db))) > 0

    async def count(self, scope: Scope | None = None) -> int:
        return await self._brain.look(lambda db: rows.count(db, scope))

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        """Yield everything by id, in pages between which others may write."""
        last_id = 0
        while page := await self._brain.look(partial(rows.page, after_id=last_id)):
            for entry in page:
                yield entry
            last_id = page[-1].memory_id

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        """Restore a memory; its vector is made again in the background."""
        return await self._brain.run(lambda db: self._put_back(db, entry))

    async def mark(
        self,
        key: str,
        scope: Scope,
        *,
        pinned: bool | None = None,
        importance: float | None = None,
        said_at_s: float | None = None,
    ) -> bool:
        marks = curation.Marks(pinned, importance, said_at_s)
        return await self._brain.run(partial(curation.mark, key=key, scope=scope, marks=marks))

    async def supersede(self, old_key: str, new_key: str, scope: Scope) -> bool:
        now_s = self._clock.wall_s()

        def supersede(db: sqlite3.Connection) -> bool:
            hidden = curation.supersede(db, old_key, new_key, scope, now_s)
            if hidden is not None:
                self._meanings.discard(hidden)
            return hidden is not None

        return await self._brain.run(supersede)

    async def former(self, entry: MemoryEntry) -> _Entries:
        return await self._brain.look(partial(curation.former, entry=entry))

    async def settle(self, entry: MemoryEntry) -> Keys:
        return [old.key for old in await self._brain.run(lambda db: self._close(db, entry))]

    async def with_former(self, found: _Entries, question: str) -> _Entries:
        from agent.memory import contradiction  # noqa: PLC0415 - turns alone need it

        return await contradiction.with_former(self, found, question)

    async def pinned(self, scope: Scope) -> _Entries:
        return await self._brain.look(partial(rows.pinned, scope=scope))

    async def about(self, thing: str, scope: Scope) -> _Entries:
        from agent.memory import contradiction  # noqa: PLC0415 - for those who ask

        timeline = partial(contradiction.timeline, thing=_clean(thing), scope=scope)
        return await self._brain.look(timeline)

    async def doomed(self, key: str, scope: Scope) -> _Entries:
        return await self._brain.look(partial(forgetting.doomed, key=_clean(key), scope=scope))

    async def revive(self, key: str, scope: Scope) -> bool:
        now_s = self._clock.wall_s()
        return await self._reloading(lambda db: curation.revive(db, key, scope, now_s))

    async def forget_source(self, source: str, scope: Scope) -> int:
        found = partial(forgetting.from_source, source=source, scope=scope)
        return await self._brain.forget(lambda db: self._bury(db, found(db)))

    async def rebuild(self) -> int:
        """Make the words again now, and the vectors before the next search."""
        rebuilt, last_id = 0, 0
        while page := await self._reloading(partial(rows.rebuild, after_id=last_id)):
            rebuilt, last_id = rebuilt + len(page), page[-1]
        return rebuilt

    async def inspect(self) -> Inspection:
        """Compare text, index, vectors and snapshot, and mend what one of the others tells."""
        sure: set[int] = set()
        texts = 0
        async for kept in self._brain.own_snapshot():
            mended = await self._reloading(partial(inspection.mend_texts, kept=kept))
            texts += len(mended)
            sure.update(await self._brain.look(partial(inspection.confirmed, kept=kept)))
        whole = Inspection(texts=texts)
        while True:
            part = await self._reloading(
                partial(inspection.inspect_page, after_id=whole.last_id, sure=sure)
            )
            whole = whole.joined(part)
            if not part.memories:
                return whole

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        """Tidy in batches, so that a question waits for one of them at most."""
        before_s = now_s - limits.conversation_days * _DAY_S
        jobs = (
            lambda db: prune(db, before_s),
            lambda db: hide_duplicates(db, now_s),
            lambda db: evict(db, limits.max_memories),
        )
        pruned, merged, evicted = [await self._until_done(job) for job in jobs]
        if not (is_whole := await self._brain.run(is_sound)):
            self._brain.doubt()
        else:
            inspected = await self.inspect()
            if inspected.texts or inspected.words or inspected.vectors or inspected.doubtful:
                _log.warning("memory: inspected: %s", inspected.sentence)
        # What a kill has cut off
        await self._brain.erase()
        tidied = Tidied(pruned, merged, evicted, is_whole)
        await self._brain.run(partial(note_tidied, tidied=tidied, now_s=now_s))
        return tidied

    async def remember_snapshot(self, digest: str) -> None:
        """Note that this snapshot holds everything, so the next start restores nothing."""
        await self._brain.run(partial(facts.remember_snapshot, digest=digest))

    async def stats(self) -> MemoryStats:
        return await self._brain.look(lambda db: facts.survey(db, self.name))

    @property
    def lacking_vectors(self) -> int:
        return self._meanings.lacking

    @property
    def is_reading_vectors(self) -> bool:
        return self._meanings.is_reading

    async def health_check(self) -> bool:
        """Return true if the store can be read and written."""
        try:
            await self._brain.run(lambda db: rows.count(db, None))
        except MemoryUnavailable:
            return False
        return True

    async def aclose(self) -> None:
        await self._meanings.aclose()
        await self._brain.aclose()

    def _put(
        self, db: sqlite3.Connection, draft: MemoryDraft, reading: PassageReading | None
    ) -> MemoryEntry:
        entry = rows.put(db, draft, self._clock.wall_s())
        self._brain.allow(entry)
        self._meanings.put(db, entry.memory_id, entry.scope.owner, reading, len(entry.content))
        return entry

    def _close(self, db: sqlite3.Connection, entry: MemoryEntry) -> Sequence[MemoryEntry]:
        """Close what a new statement contradicts; return the closed memories."""
        from agent.memory import contradiction  # noqa: PLC0415 - many patterns

        closed = contradiction.close(db, entry, self._clock.wall_s())
        for old in closed:
            self._meanings.discard(old.memory_id)
        return closed

    async def _reloading(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run a job after which the index is read again from the table."""

        def run(db: sqlite3.Connection) -> R:
            self._meanings.reload()
            return job(db)

        return await self._brain.run(run)

    async def _until_done(self, job: Callable[[sqlite3.Connection], Sequence[int]]) -> int:
        """Return the number of memories that all batches of a job have touched."""

        def batch(db: sqlite3.Connection) -> int:
            touched = job(db)
            for memory_id in touched:
                self._meanings.discard(memory_id)
            return len(touched)

        done = 0
        while touched := await self._brain.run(batch):
            done += touched
        return done

    async def _read(self, draft: MemoryDraft) -> PassageReading | None:
        before = ""
        if draft.scope.session is not None:
            before = await self._brain.look(partial(sessions.last_said, scope=draft.scope))
        return await self._meanings.read(searched_text(draft.key, draft.content), before)

    def _put_back(self, db: sqlite3.Connection, entry: MemoryEntry) -> MemoryEntry:
        self._brain.allow(entry)
        # What it replaces may be in the index, by an id of its own
        replaced = rows.held(db, entry.scope.owner, entry.key)
        put = rows.restore(db, entry)
        for one in filter(None, (put, replaced)):
            self._meanings.put(db, one.memory_id, one.scope.owner, None)
        return put

    def _found_by_words(
        self, db: sqlite3.Connection, question: MemoryQuestion, limit: int
    ) -> _Entries | None:
        """Return what words find while vectors are not at hand: the model is not waited for."""
        return None if self._meanings.are_at_hand(db) else search.find(db, question, limit)

    def _bury(self, db: sqlite3.Connection, found: Sequence[MemoryEntry]) -> int:
        if not found:
            return 0
        # First: what is deleted and not noted could come back from a snapshot
        self._brain.note_forgotten(db, found, self._clock.wall_s())
        if forgetting.bury(db, found):
            # They come back into the index from the table, and perhaps without a vector
            self._meanings.reload()
        for entry in found:
            self._meanings.discard(entry.memory_id)
        return len(found)


def _draft_of(said: SaidMemory) -> MemoryDraft:
    return _sound(
        MemoryDraft("", said.content, said.category, said.scope, said.provenance, FROM_CHAT)
    )


def _sound(draft: MemoryDraft) -> MemoryDraft:
    """Return the draft with a key and text that a database can hold."""
    key, content = _clean(draft.key), _clean(draft.content)
    if len(content) > MAX_CONTENT_CHARS or len(key) > MAX_KEY_CHARS:
        raise MemoryUnavailable(
            f"a memory has at most {MAX_CONTENT_CHARS} characters, its key {MAX_KEY_CHARS}"
        )
    source = _clean(draft.source)[:MAX_SOURCE_CHARS]
    return replace(draft, key=key or key_of(content), content=content, source=source)


def _clean(text: str) -> str:
    """Return text that a database can hold: lone surrogates become question marks."""
    return text.encode(errors="replace").decode()
