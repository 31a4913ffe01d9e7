"""Transfer of memories: into a snapshot, out of one, and between backends.

Works over any backend, by `entries` and `restore`; what hides a memory is followed when ids change.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import MemoryUnavailable, StorageFull
from agent.memory.base import Memory, MemoryEntry
from agent.memory.generations import Generations, WrittenSnapshot

_log = logging.getLogger(__name__)

# A stop waits no longer: what is in the database is safe there
STOP_TIMEOUT_S = 15.0
# Memories that are written at a time
_PAGE_ENTRIES = 500


@runtime_checkable
class KnowsSnapshots(Protocol):
    """A store that recognises the snapshots it wrote."""

    async def remember_snapshot(self, digest: str) -> None: ...


class TransferResult(Struct, frozen=True):
    """Result of a transfer; `unreadable` counts unreadable rows of the source."""

    moved: int
    unreadable: int = 0


async def take_snapshot(memory: Memory, folder: Path) -> WrittenSnapshot:
    """Write all memories to `MEMORY_SNAPSHOT.md` in that folder; keep older ones beside it.

    Raises:
        StorageFull: the snapshot that was there is still there.
        MemoryUnavailable: as above.
    """
    draft = await asyncio.to_thread(Generations(folder).begin)
    try:
        page: list[MemoryEntry] = []
        async for entry in memory.entries():
            page.append(entry)
            if len(page) == _PAGE_ENTRIES:
                await asyncio.to_thread(draft.add, page)
                page = []
        await asyncio.to_thread(draft.add, page)
        written = await asyncio.to_thread(draft.finish)
    finally:
        draft.discard()
    if isinstance(memory, KnowsSnapshots):
        await memory.remember_snapshot(written.digest)
    return written


async def keep_snapshot(memory: Memory, folder: Path, timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Take a snapshot if there are memories; log failures instead of raising them.

    Args:
        folder: of `brain.db`.
    """
    if isinstance(memory, KnowsSnapshots) and not await asyncio.to_thread(_was_used, folder):
        return
    folder = snapshot_folder(memory, folder)
    try:
        async with asyncio.timeout(timeout_s):
            if await memory.count() or await asyncio.to_thread(_was_used, folder):
                await take_snapshot(memory, folder)
    except TimeoutError:
        _log.warning("memory: snapshot cut off (limit_s=%s)", timeout_s)
    except (MemoryUnavailable, StorageFull, OSError) as err:
        _log.warning("memory: snapshot failed: %s", err)


def snapshot_folder(memory: Memory, folder: Path) -> Path:
    """Return the folder of its snapshots; beside `brain.db` are only those it may restore."""
    return folder if isinstance(memory, KnowsSnapshots) else folder / memory.name


def _was_used(folder: Path) -> bool:
    return (folder / "brain.db").exists() or Generations(folder).newest_path.exists()


async def carry(
    entries: AsyncIterable[MemoryEntry | None], memory: Memory, here: Mapping[int, int]
) -> TransferResult:
    """Restore each of these; None stands for an unreadable one.

    Args:
        here: ids of those that need not be restored, by their ids there; complete at the end.
    """
    new_ids: dict[int, int] = {}
    hidden: list[tuple[MemoryEntry, int]] = []
    moved = unreadable = 0
    async for entry in entries:
        if entry is None:
            unreadable += 1
            continue
        put = await memory.restore(replace(entry, superseded_by=None))
        moved += 1
        new_ids[entry.memory_id] = put.memory_id
        if entry.superseded_by is not None:
            hidden.append((put, entry.superseded_by))
    for put, by in hidden:
        # A number of there names any other memory here
        await memory.restore(replace(put, superseded_by=new_ids.get(by, here.get(by))))
    return TransferResult(moved, unreadable)
