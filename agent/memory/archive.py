"""Conversations past their time, appended to a file for each year before they are let go.

For those who want to keep them: nothing reads the archive back, and forgetting does not reach it.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agent.memory.base import CONVERSATION, Memory, MemoryEntry

_DAY_S = 86_400.0
# Memories that are written at a time
_PAGE = 500


async def put_away(memory: Memory, folder: Path, now_s: float, days: int) -> int:
    """Append every conversation older than that; how many they were.

    Raises:
        MemoryUnavailable: the memory cannot be read.
        OSError: the archive cannot be written.
    """
    page: list[MemoryEntry] = []
    count = 0
    async for entry in memory.entries():
        is_old = entry.updated_at_s < now_s - days * _DAY_S
        if entry.category == CONVERSATION and is_old and not entry.pinned:
            page.append(entry)
            count += 1
        if len(page) == _PAGE:
            await asyncio.to_thread(_append, folder, page)
            page = []
    if page:
        await asyncio.to_thread(_append, folder, page)
    return count


def _append(folder: Path, entries: Sequence[MemoryEntry]) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    by_year: dict[str, list[bytes]] = {}
    for entry in entries:
        year = time.strftime("%Y", time.gmtime(entry.updated_at_s))
        by_year.setdefault(year, []).append(msgspec.json.encode(_line(entry)))
    for year, lines in by_year.items():
        handle = os.open(folder / f"{year}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


def _line(entry: MemoryEntry) -> dict[str, object]:
    return {
        "content": entry.content,
        "person": entry.scope.person,
        "session": entry.scope.session,
        "provenance": entry.provenance.name.lower(),
        "updated_at_s": entry.updated_at_s,
    }
