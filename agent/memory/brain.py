"""Access to `brain.db`: jobs in, results or one kind of error out.

A file that turns out to be damaged is opened anew, which looks at it and sets it aside; when it
looks sound and still cannot be used, its memories are moved into a new one. Whatever is opened
first gets back what it lacks and the snapshot beside it has.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from agent.errors import MemoryUnavailable, StorageFull
from agent.memory import facts, forgetting, rows, salvage
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations
from agent.memory.schema import MIGRATIONS
from agent.memory.tombstones import Tombstones
from agent.messages import Provenance
from agent.storage.database import IN_RAM, SMALL_PAGE_BYTES, set_aside, was_set_aside
from agent.storage.worker import DatabaseWorker

# Of `text.tokens`; another one splits the index of every database once
_SPLIT = "Thai and its neighbours in pairs"
# What is said of a file that this device did not write
_NOT_OURS = (
    "; this device did not write that file, so they are trusted like a web page: `barnacle "
    "memory import FILE --provenance owner` trusts them as yours"
)


class _Readable:
    """Passes on readable entries and counts the others, without loading a whole snapshot."""

    def __init__(self, found: Iterable[MemoryEntry | None]) -> None:
        self._found = found
        self.unreadable = 0

    def __iter__(self) -> Iterator[MemoryEntry]:
        for entry in self._found:
            if entry is None:
                self.unreadable += 1
            else:
                yield entry


def bring_back(
    db: sqlite3.Connection, snapshots: Generations, path: Path, tombstones: Tombstones
) -> str:
    """Restore what the database lacks and nobody forgot; return a sentence about it, or ""."""
    if facts.get(db, facts.SPLIT) != _SPLIT:
        rows.split_again(db)
        facts.put(db, facts.SPLIT, _SPLIT)
    if tombstones.count and facts.get(db, facts.BURIED) != str(tombstones.count):
        # A forget was cut off between its note and its deletion, or this database is a new one
        forgetting.bury_dead(db, tombstones)
        facts.put(db, facts.BURIED, str(tombstones.count))
    came = (_from_snapshot(db, snapshots, tombstones), _salvaged(db, path, tombstones))
    said = [sentence for sentence in came if sentence]
    if not said:
        return ""
    sentence = "; ".join(said)
    facts.put(db, facts.CAME_BACK, f"{time.strftime('%Y-%m-%d %H:%M')}: {sentence}")
    return sentence


def _from_snapshot(db: sqlite3.Connection, snapshots: Generations, tombstones: Tombstones) -> str:
    every = snapshots.every()
    if not every or facts.knows_snapshot(db, every[0].digest):
        return ""
    chosen = next((one for one in every if one.is_whole()), every[0])
    if facts.knows_snapshot(db, chosen.digest):
        return ""
    # A file that somebody else put there is no word of the owner's, whatever it says
    trust = Provenance.OWNER if snapshots.is_ours(chosen) else Provenance.WEB
    found = _Readable(entry and entry.trusted_at_most(trust) for entry in chosen.entries())
    restored = merge_entries(db, _living(found, tombstones))
    facts.remember_snapshot(db, chosen.digest)
    lost = found.unreadable
    if not restored and not lost:
        # It was written, and the agent killed before it could be noted
        return ""
    doubt = f"; {lost} in it could not be read" if lost else ""
    if trust < Provenance.OWNER:
        doubt += _NOT_OURS
    return f"{restored} memories came back from {chosen.path.name}{doubt}"


def _salvaged(db: sqlite3.Connection, path: Path, tombstones: Tombstones) -> str:
    """Copy missing memories from the newest damaged database, once."""
    damaged = next(iter(was_set_aside(path)), None)
    if damaged is None or facts.get(db, facts.SALVAGED) == damaged.name:
        return ""
    facts.put(db, facts.SALVAGED, damaged.name)
    try:
        uri = f"{damaged.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as old:
            old.text_factory = _decoded
            found = salvage.readable(old)
    except (sqlite3.Error, UnicodeError):
        found = []
    merged = merge_entries(db, _living(found, tombstones))
    return f"{merged or 'nothing'} more could be read from {damaged.name}"


def _living(entries: Iterable[MemoryEntry], tombstones: Tombstones) -> Iterator[MemoryEntry]:
    """Yield what was not forgotten."""
    return (entry for entry in entries if not tombstones.is_dead(entry))


def merge_entries(db: sqlite3.Connection, entries: Iterable[MemoryEntry]) -> int:
    """Restore missing or newer memories; return how many."""
    new_ids: dict[int, int] = {}
    hidden: list[tuple[int, int]] = []
    for entry in entries:
        held = rows.held(db, entry.scope.owner, entry.key)
        if held is not None and held.updated_at_s >= entry.updated_at_s:
            continue
        put = rows.restore(db, replace(entry, superseded_by=None))
        new_ids[entry.memory_id] = put.memory_id
        if entry.superseded_by is not None:
            hidden.append((put.memory_id, entry.superseded_by))
    for memory_id, by in hidden:
        rows.hide(db, memory_id, new_ids.get(by, by))
    return len(new_ids)


_log = logging.getLogger(__name__)

R = TypeVar("R")

# A call waits at most this long: the database's own wait for another writer, twice
CALL_TIMEOUT_S = 10.0
# Memories of a snapshot that are compared at a time: a question waits for no more
SNAPSHOT_PIECE = 200
# Errors that constant statements raise only on a file that is not what was written
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
    }
)


class Brain:
    """The database, opened on first use; `failures` counts jobs with an unknown end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = DatabaseWorker(path, MIGRATIONS, SMALL_PAGE_BYTES)
        # Damage was met, and opening the file anew has found nothing wrong with it
        self._distrusted = False
        self._closed = False
        self._snapshots = Generations(path.parent)
        self._tombstones = Tombstones(path.parent)
        # The one whose database has got back what it lacked
        self._awake: DatabaseWorker | None = None
        self._waking: asyncio.Task[None] | None = None
        self._failures = 0

    @property
    def failures(self) -> int:
        return self._failures + self._worker.undone

    async def run(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run the job in a transaction of its own, in the database's thread, and return its result.

        Raises:
            MemoryUnavailable: nothing was changed, unless it took too long.
        """
        return await self._run(job, is_look=False)

    async def redoable(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run a job whose end a power cut may undo: what it kept is told again by the messages."""
        return await self._run(job, is_look=False, redoable=True)

    async def look(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run a job that changes nothing, also on a read-only disk."""
        return await self._run(job, is_look=True)

    async def _run(
        self, job: Callable[[sqlite3.Connection], R], *, is_look: bool, redoable: bool = False
    ) -> R:
        if self._closed:
            raise MemoryUnavailable("the memory is closed")
        worker = self._worker
        done = False
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._wake(worker, is_look=is_look)
                transact = worker.transact
                if is_look:
                    transact = worker.look
                elif redoable:
                    transact = worker.redoable
                result = await transact(lambda db: _tolerantly(db, job))
            done = True
        except TimeoutError as err:
            raise MemoryUnavailable(f"{self._path} took longer than {CALL_TIMEOUT_S} s") from err
        except (StorageFull, OSError) as err:
            raise MemoryUnavailable(str(err)) from err
        except UnicodeEncodeError as err:
            raise MemoryUnavailable("the text has half a character (a lone surrogate)") from err
        except (sqlite3.Error, UnicodeError) as err:
            if self._worker is worker and _code(err) & 0xFF in _DAMAGED:
                await self._recover(worker, err)
            raise MemoryUnavailable(f"{self._path} cannot be used: {err}") from err
        finally:
            if not done:
                self._failures += 1
        return result

    def note_forgotten(
        self, db: sqlite3.Connection, entries: Sequence[MemoryEntry], now_s: float
    ) -> None:
        """Note beside the database, durably, that these are deleted now; for a job."""
        if self._path != IN_RAM:
            self._tombstones.add(entries, now_s)
            facts.put(db, facts.BURIED, str(self._tombstones.count))

    def allow(self, entry: MemoryEntry) -> None:
        """Note that this memory lives, although it was forgotten once; for a job."""
        if self._path != IN_RAM:
            self._tombstones.allow(entry)

    async def own_snapshot(self) -> AsyncIterator[list[MemoryEntry]]:
        """Yield the newest whole snapshot that this device wrote, in pieces, if there is one."""
        if self._path == IN_RAM:
            return
        entries = await asyncio.to_thread(self._newest_own)
        while piece := await asyncio.to_thread(lambda: list(islice(entries, SNAPSHOT_PIECE))):
            yield piece

    def _newest_own(self) -> Iterator[MemoryEntry]:
        own = (one for one in self._snapshots.every() if self._snapshots.is_ours(one))
        newest = next(own, None)
        if newest is None:
            return iter(())
        return filter(None, newest.entries())

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            if self._waking is not None:
                await asyncio.gather(self._waking, return_exceptions=True)
            await self._worker.aclose()

    async def _wake(self, worker: DatabaseWorker, *, is_look: bool) -> None:
        """Restore what a newly opened database lacks, and return a note about it."""
        if self._awake is worker or self._path == IN_RAM:
            return
        if self._waking is None:
            self._waking = asyncio.create_task(self._revive(worker))
            # Whoever waits hears of it; nobody may wait any more
            self._waking.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            # A large snapshot takes longer than a call may: it comes back for those that follow
            await asyncio.shield(self._waking)
        except StorageFull:
            if not is_look:
                raise

    async def _revive(self, worker: DatabaseWorker) -> None:
        try:
            said = await worker.transact(lambda db: _tolerantly(db, self._bring_back))
            self._awake = worker
        finally:
            self._waking = None
        if said:
            _log.warning("memory: database restored (file=%s): %s", self._path.name, said)

    def _bring_back(self, db: sqlite3.Connection) -> str:
        try:
            return bring_back(db, self._snapshots, self._path, self._tombstones)
        except OSError as err:
            return f"the snapshot could not be read: {err}"

    async def _recover(self, worker: DatabaseWorker, err: Exception) -> None:
        """Open the file again, which sets a damaged one aside; otherwise save its content."""
        _log.error("memory: database damaged (file=%s): %s", self._path, err)
        self._worker = DatabaseWorker(self._path, MIGRATIONS, SMALL_PAGE_BYTES)
        if not self._distrusted:
            self._distrusted = True
            await worker.aclose()
            return
        self._distrusted = False
        saved = await _saved(worker)
        await worker.aclose()
        await asyncio.to_thread(set_aside, self._path)
        living = list(_living(saved, self._tombstones))
        await self._worker.transact(lambda db: merge_entries(db, living))
        _log.error(
            "memory: content moved to a new database (memories=%s, file=%s)", len(saved), self._path
        )


async def _saved(worker: DatabaseWorker) -> list[MemoryEntry]:
    try:
        return await worker.transact(lambda db: _tolerantly(db, salvage.readable))
    except (sqlite3.Error, UnicodeError, StorageFull):
        return []


def _tolerantly(db: sqlite3.Connection, job: Callable[[sqlite3.Connection], R]) -> R:
    """Run a job; replace damaged letters instead of failing."""
    db.text_factory = _decoded
    return job(db)


def _decoded(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _code(err: Exception) -> int:
    """Return SQLite's code; 0 for errors that Python itself raises."""
    return int(getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
