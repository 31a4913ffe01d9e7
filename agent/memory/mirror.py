"""Memories in files that people read, with an index like that of `brain.db`.

All of them are in a database in RAM too, which decides what a store, a recall and a supersession
mean; what it changes is written by the keeper before the caller hears of it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from typing import Protocol, TypeVar

from msgspec.structs import replace

from agent.embeddings.base import Embedder
from agent.errors import BarnacleError, MemoryUnavailable
from agent.memory.base import (
    CORE,
    MAX_CONTENT_CHARS,
    MAX_KEY_CHARS,
    MAX_SOURCE_CHARS,
    MemoryEntry,
    MemoryStats,
    Scope,
)
from agent.memory.migration import superseders_first
from agent.memory.sqlite import Keys, SqliteMemory
from agent.messages import Provenance
from agent.storage.database import IN_RAM
from agent.system.clock import Clock

R = TypeVar("R")

# Writing a file takes milliseconds; a card that is dying takes longer
WRITE_TIMEOUT_S = 10.0
# SQLite's largest number
_MAX_ID = 2**63 - 1
_EVERYBODY = Scope()

_Entries = list[MemoryEntry]
_Kept = dict[int, MemoryEntry]


class Keeper(Protocol):
    """Keeps the original memories; its methods block and are called one at a time.

    They raise OSError or a BarnacleError; then nothing was changed.
    """

    def lock(self) -> ExitStack:
        """Return the lock of the files, once no other program has it; closing it ends it."""

    def stamp(self) -> object:
        """Return a value that changes when another program writes the files."""

    def load(self) -> Sequence[MemoryEntry]: ...

    def keep(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        """Make the changes durable; `changed` holds new memories too."""

    def survey(self) -> tuple[int, dict[str, str]]:
        """Return the bytes of the files, and details for people as names and sentences."""


class MirroredMemory:
    """All methods of a memory, over a keeper."""

    name = "mirrored"

    def __init__(self, keeper: Keeper, embedder: Embedder, clock: Clock) -> None:
        self._keeper = keeper
        self._embedder = embedder
        self._clock = clock
        self._turn = asyncio.Lock()
        # One thread: a write whose caller has gone is over before the next one begins
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memories")
        self._index = SqliteMemory(IN_RAM, embedder, clock)
        # What the keeper has, by id, and its stamp then; None until it was asked
        self._kept: tuple[_Kept, object] | None = None
        self._closed = False

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
        return await self._changing(
            lambda index: index.store(
                key, content, category=category, scope=scope, provenance=provenance, source=source
            )
        )

    async def recall(self, query: str, limit: int, scope: Scope) -> _Entries:
        return await (await self._current()).recall(query, limit, scope)

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return await (await self._current()).get(key, scope)

    async def list(self, scope: Scope, category: str | None = None, limit: int = 100) -> _Entries:
        return await (await self._current()).list(scope, category, limit)

    async def forget(self, key: str, scope: Scope) -> bool:
        return await self._changing(lambda index: index.forget(key, scope))

    async def count(self, scope: Scope | None = None) -> int:
        return await (await self._current()).count(scope)

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        async for entry in (await self._current()).entries():
            yield entry

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        async with self._alone():
            kept = await self._loaded()
            self._kept = None
            put = await self._index.restore(entry)
            name = (put.scope.owner, put.key)
            old = next((one for one in kept.values() if (one.scope.owner, one.key) == name), None)
            hid = old is not None and any(
                one.superseded_by == old.memory_id for one in kept.values()
            )
            # Looking at everything after each of many would take for ever
            now = await self._indexed() if hid else _with(kept, old, put)
            await self._keep(kept, now)
            return put

    async def mark(
        self,
        key: str,
        scope: Scope,
        *,
        pinned: bool | None = None,
        importance: float | None = None,
        said_at_s: float | None = None,
    ) -> bool:
        return await self._changing(
            lambda index: index.mark(
                key, scope, pinned=pinned, importance=importance, said_at_s=said_at_s
            )
        )

    async def supersede(self, old_key: str, new_key: str, scope: Scope) -> bool:
        return await self._changing(lambda index: index.supersede(old_key, new_key, scope))

    async def former(self, entry: MemoryEntry) -> _Entries:
        return await (await self._current()).former(entry)

    async def settle(self, entry: MemoryEntry) -> Keys:
        return await self._changing(lambda index: index.settle(entry))

    async def with_former(self, found: _Entries, question: str) -> _Entries:
        return await (await self._current()).with_former(found, question)

    async def pinned(self, scope: Scope) -> _Entries:
        return await (await self._current()).pinned(scope)

    async def about(self, thing: str, scope: Scope) -> _Entries:
        return await (await self._current()).about(thing, scope)

    async def doomed(self, key: str, scope: Scope) -> _Entries:
        return await (await self._current()).doomed(key, scope)

    async def revive(self, key: str, scope: Scope) -> bool:
        return await self._changing(lambda index: index.revive(key, scope))

    async def forget_source(self, source: str, scope: Scope) -> int:
        return await self._changing(lambda index: index.forget_source(source, scope))

    async def rebuild(self) -> int:
        """Read everything again."""
        async with self._turn:
            self._kept = None
            return len(await self._loaded())

    async def stats(self) -> MemoryStats:
        stats = await (await self._current()).stats()
        size_bytes, details = await self._in_thread(self._keeper.survey)
        return replace(stats, backend=self.name, size_bytes=size_bytes, details=details)

    async def health_check(self) -> bool:
        try:
            await self.count()
        except MemoryUnavailable:
            return False
        return True

    async def aclose(self) -> None:
        async with self._turn:
            self._closed = True
            await self._index.aclose()
            self._thread.shutdown(wait=False)

    async def _current(self) -> SqliteMemory:
        async with self._turn:
            await self._loaded()
            return self._index

    async def _loaded(self) -> _Kept:
        """Return the kept memories; the index holds the same."""
        if self._closed:
            raise MemoryUnavailable("the memory is closed")
        stamp = await self._in_thread(self._keeper.stamp)
        if self._kept is not None and self._kept[1] == stamp:
            return self._kept[0]
        read = await self._in_thread(self._keeper.load)
        old, self._index = self._index, SqliteMemory(IN_RAM, self._embedder, self._clock)
        await old.aclose()
        # None before the one that hides it, so that every number is known when it is needed
        for entry in superseders_first(map(_tamed, read)):
            await self._index.restore(entry)
        self._kept = await self._indexed(), stamp
        return self._kept[0]

    async def _changing(self, work: Callable[[SqliteMemory], Awaitable[R]]) -> R:
        """Change the index, then what is kept; both or neither."""
        async with self._alone():
            kept = await self._loaded()
            # Whatever happens now, the index is made anew from what is kept unless all went well
            self._kept = None
            result = await work(self._index)
            await self._keep(kept, await self._indexed())
            return result

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Hold the files from the look at them to what is written.

        A command beside the agent gives new memories the same numbers, and writes the same files.
        """
        async with self._turn:
            if self._closed:
                raise MemoryUnavailable("the memory is closed")
            lock = await self._in_thread(self._keeper.lock)
            try:
                yield
            finally:
                # Behind a write whose caller has gone
                self._thread.submit(lock.close)

    async def _keep(self, kept: _Kept, now: _Kept) -> None:
        changed = [entry for entry in now.values() if kept.get(entry.memory_id) != entry]
        gone = [entry for memory_id, entry in kept.items() if memory_id not in now]
        if changed or gone:
            await self._in_thread(lambda: self._keeper.keep(changed, gone))
        self._kept = now, await self._in_thread(self._keeper.stamp)

    async def _indexed(self) -> _Kept:
        return {entry.memory_id: entry async for entry in self._index.entries()}

    async def _in_thread(self, work: Callable[[], R]) -> R:
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except MemoryUnavailable:
            raise
        except TimeoutError as err:
            raise MemoryUnavailable(f"the files took longer than {WRITE_TIMEOUT_S} s") from err
        except (BarnacleError, OSError) as err:
            raise MemoryUnavailable(f"the memories cannot be used: {err}") from err


def _with(kept: _Kept, old: MemoryEntry | None, put: MemoryEntry) -> _Kept:
    now = {**kept, put.memory_id: put}
    if old is not None and old.memory_id != put.memory_id:
        del now[old.memory_id]
    return now


def _tamed(entry: MemoryEntry) -> MemoryEntry:
    """Return the entry as a database can hold it; somebody may have edited the files."""
    scope = entry.scope
    return replace(
        entry,
        memory_id=entry.memory_id if 0 < entry.memory_id <= _MAX_ID else 0,
        superseded_by=entry.superseded_by
        if entry.superseded_by is not None and 0 < entry.superseded_by <= _MAX_ID
        else None,
        key=_clean(entry.key)[:MAX_KEY_CHARS],
        content=_clean(entry.content)[:MAX_CONTENT_CHARS],
        category=_clean(entry.category),
        source=_clean(entry.source)[:MAX_SOURCE_CHARS],
        scope=Scope(
            *(
                None if name is None else _clean(name)
                for name in (scope.person, scope.session, scope.group, scope.device)
            )
        ),
    )


def _clean(text: str) -> str:
    return text.encode(errors="replace").decode()
