"""Long-term memory in `brain.db` that also asks the external `lucid` program.

The file is what counts. The program hears what is stored, and is asked where the file knows
little. It knows no people: only the owner's and everybody's memories go there, and only the
owner's questions; what it alone knows is trusted least. What was forgotten here stays forgotten.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec.structs import replace

from agent.errors import StorageFull
from agent.memory.base import (
    CORE,
    EVERYBODYS,
    MemoryEntry,
    MemoryStats,
    Scope,
    StoreLimits,
    Tidied,
)
from agent.memory.curation import MAX_COMPARED
from agent.memory.keys import key_of
from agent.memory.lucid_tool import LucidMatch, LucidTool
from agent.memory.sqlite import Keys, SqliteMemory
from agent.memory.text import asked_tokens, normalise, tokens
from agent.memory.transfer import KnowsSnapshots
from agent.messages import Provenance
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# With so many memories of our own the program is not asked
LOCAL_HIT_THRESHOLD = 3
# Stores that wait for the program; a flood of them is not worth the memory
MAX_WAITING = 100
# What a stop waits for them
DRAIN_TIMEOUT_S = 0.8
# Forgotten memories that are remembered as forgotten: 650 KB
MAX_FORGOTTEN = 10_000
# Letters that tell memories apart: the program shows the first 200 characters of each
_SIGNED_CHARS = 80
_MAX_ASKED_TOKENS = 32
SOURCE = "lucid"
_EVERYBODY = Scope()

_Entries = list[MemoryEntry]


class LucidMemory:
    """A memory beside another one.

    Args:
        local: keeps everything.
        folder: where it is noted what the program may not bring back.
        owner: the person whom the program belongs to.
    """

    name = "lucid"

    def __init__(
        self, local: SqliteMemory, program: str, folder: Path, clock: Clock, owner: str = "owner"
    ) -> None:
        self._local = local
        self._tool = LucidTool(program, clock)
        self._owner = owner
        self._forgotten = _Forgotten(folder / "lucid-forgotten.json")
        self._waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue(MAX_WAITING)
        self._telling: asyncio.Task[None] | None = None

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
        """Store durably in the file; the program hears of it afterwards."""
        old = await self._own(key or key_of(content), scope)
        entry = await self._local.store(
            key, content, category=category, scope=scope, provenance=provenance, source=source
        )
        if self._may_know(entry.scope):
            if old is not None and old.content != entry.content:
                await self._forgotten.add(old.content)
            await self._forgotten.discard(entry.content)
            self._tell(entry)
        return entry

    async def recall(self, query: str, limit: int, scope: Scope) -> _Entries:
        """Return the file's memories first, then those that only the program knows."""
        found = await self._local.recall(query, limit, scope)
        asks = bool(query.strip(" *")) and scope.person == self._owner
        if not asks or len(found) >= min(LOCAL_HIT_THRESHOLD, limit):
            return found
        more = await self._others(query, scope, found)
        # The rest is no better than what stands before it
        least = min((entry.score or 0.0 for entry in found), default=1.0)
        capped = [replace(one, score=min(one.score or 0.0, least)) for one in more]
        ordered = sorted(capped, key=lambda one: one.score or 0.0, reverse=True)
        return [*found, *ordered][: max(0, limit)]

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return await self._local.get(key, scope)

    async def list(self, scope: Scope, category: str | None = None, limit: int = 100) -> _Entries:
        return await self._local.list(scope, category, limit)

    async def forget(self, key: str, scope: Scope) -> bool:
        # With it go the messages that say the same, and what was drawn from it
        for old in await self._local.doomed(key, scope):
            if self._may_know(old.scope):
                # First: what a cut leaves in the file is told from there, and nothing comes back
                await self._forgotten.add(old.content)
        return await self._local.forget(key, scope)

    async def count(self, scope: Scope | None = None) -> int:
        return await self._local.count(scope)

    def entries(self) -> AsyncIterator[MemoryEntry]:
        return self._local.entries()

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        return await self._local.restore(entry)

    async def remember_snapshot(self, digest: str) -> None:
        """Note the file's content as the snapshot's content."""
        if isinstance(self._local, KnowsSnapshots):
            await self._local.remember_snapshot(digest)

    async def mark(
        self,
        key: str,
        scope: Scope,
        *,
        pinned: bool | None = None,
        importance: float | None = None,
        said_at_s: float | None = None,
    ) -> bool:
        return await self._local.mark(
            key, scope, pinned=pinned, importance=importance, said_at_s=said_at_s
        )

    async def supersede(self, old_key: str, new_key: str, scope: Scope) -> bool:
        old = await self._own(old_key, scope)
        is_hidden = await self._local.supersede(old_key, new_key, scope)
        if is_hidden and old is not None and self._may_know(scope):
            await self._forgotten.add(old.content)
        return is_hidden

    async def former(self, entry: MemoryEntry) -> _Entries:
        return await self._local.former(entry)

    async def settle(self, entry: MemoryEntry) -> Keys:
        from agent.memory import contradiction  # noqa: PLC0415 - many patterns

        scope = replace(entry.scope, session=None)
        known = await self._local.list(scope, None, MAX_COMPARED)
        # By our own supersession, so that the program forgets the closed ones, too
        return await contradiction.settle(self, known, entry)

    async def with_former(self, found: _Entries, question: str) -> _Entries:
        return await self._local.with_former(found, question)

    async def pinned(self, scope: Scope) -> _Entries:
        return await self._local.pinned(scope)

    async def about(self, thing: str, scope: Scope) -> _Entries:
        return await self._local.about(thing, scope)

    async def doomed(self, key: str, scope: Scope) -> _Entries:
        return await self._local.doomed(key, scope)

    async def revive(self, key: str, scope: Scope) -> bool:
        is_back = await self._local.revive(key, scope)
        if is_back and (entry := await self._own(key, scope)) is not None:
            await self._forgotten.discard(entry.content)
        return is_back

    async def forget_source(self, source: str, scope: Scope) -> int:
        if self._may_know(scope):
            for entry in await self._local.list(scope, limit=await self._local.count(scope)):
                if entry.source == source and entry.scope.owner == scope.owner:
                    await self._forgotten.add(entry.content)
        return await self._local.forget_source(source, scope)

    async def rebuild(self) -> int:
        return await self._local.rebuild()

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        return await self._local.tidy(limits, now_s)

    async def stats(self) -> MemoryStats:
        stats = await self._local.stats()
        state = self._tool.failure or "no trouble so far"
        return replace(stats, backend=self.name, details={**stats.details, "lucid": state})

    async def health_check(self) -> bool:
        return await self._local.health_check()

    async def aclose(self) -> None:
        if self._telling is not None:
            try:
                async with asyncio.timeout(DRAIN_TIMEOUT_S):
                    await self._waiting.join()
            except TimeoutError:
                _log.warning("lucid: memories not passed on (count=%s)", self._waiting.qsize())
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        await self._local.aclose()

    async def _own(self, key: str, scope: Scope) -> MemoryEntry | None:
        """Return the memory that a store or forget of that key is about."""
        found = await self._local.get(key, scope)
        return found if found is not None and found.scope.owner == scope.owner else None

    def _may_know(self, scope: Scope) -> bool:
        return scope.owner in {EVERYBODYS, Scope(self._owner).owner}

    def _tell(self, entry: MemoryEntry) -> None:
        try:
            self._waiting.put_nowait((entry.content, entry.category))
        except asyncio.QueueFull:
            _log.warning("lucid: queue full, a memory is not passed on")
        if self._telling is None:
            self._telling = asyncio.create_task(self._keep_telling())

    async def _keep_telling(self) -> None:
        while True:
            content, category = await self._waiting.get()
            try:
                await self._tool.store(content, category)
            finally:
                self._waiting.task_done()

    async def _others(self, query: str, scope: Scope, known: _Entries) -> _Entries:
        seen = {_signature(entry.content) for entry in known}
        more = []
        for found in await self._tool.context(query):
            signature = _signature(found.content)
            if signature in seen or await self._forgotten.has(found.content):
                continue
            seen.add(signature)
            entry = await self._local_copy(found, scope) or self._foreign(found)
            more.append(replace(entry, score=_fit(query, entry.content)))
        return more

    async def _local_copy(self, found: LucidMatch, scope: Scope) -> MemoryEntry | None:
        """Return our own copy of what the program shows, with our provenance."""
        near = await self._local.recall(found.content, LOCAL_HIT_THRESHOLD, scope)
        signature = _signature(found.content)
        return next((entry for entry in near if _signature(entry.content) == signature), None)

    def _foreign(self, found: LucidMatch) -> MemoryEntry:
        return MemoryEntry(
            0,
            key_of(found.content),
            found.content,
            found.category,
            Provenance.WEB,
            Scope(self._owner),
            0.0,
            0.0,
            source=SOURCE,
        )


class _Forgotten:
    """Hashes of forgotten memories that the program must not bring back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests: dict[str, None] | None = None

    async def has(self, content: str) -> bool:
        return _digest(content) in await self._loaded()

    async def add(self, content: str) -> None:
        digests = await self._loaded()
        digests[_digest(content)] = None
        while len(digests) > MAX_FORGOTTEN:
            del digests[next(iter(digests))]
        await self._write(digests)

    async def discard(self, content: str) -> None:
        digests = await self._loaded()
        if _digest(content) in digests:
            del digests[_digest(content)]
            await self._write(digests)

    async def _loaded(self) -> dict[str, None]:
        if self._digests is None:
            read = await asyncio.to_thread(self._read)
            # Somebody else may have read it meanwhile
            self._digests = self._digests or read
        return self._digests

    async def _write(self, digests: dict[str, None]) -> None:
        text = json.dumps(list(digests), indent=0).encode()
        try:
            await asyncio.to_thread(write_atomic, self._path, text)
        except (OSError, StorageFull) as err:
            _log.warning("lucid: forgotten memories not recorded, they may come back: %s", err)

    def _read(self) -> dict[str, None]:
        try:
            read = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return dict.fromkeys(map(str, read)) if isinstance(read, list) else {}


def _signature(content: str) -> str:
    """Return a value that is equal for a memory and the program's cut form of it."""
    letters = "".join(char for char in normalise(content) if char.isalnum())
    return letters[:_SIGNED_CHARS] or content.strip()


def _digest(content: str) -> str:
    return hashlib.sha256(_signature(content).encode(errors="replace")).hexdigest()


def _fit(query: str, content: str) -> float:
    """Return the share of the asked words in the content; lucid gives no score."""
    asked = asked_tokens(query, _MAX_ASKED_TOKENS)
    has = set(tokens(content))
    return sum(token in has for token in asked) / len(asked) if asked else 0.0
