"""Memory maintenance: twice a day and at shutdown, for every backend.

Old conversations go (into the archive, where one is wanted), the store is tidied and looked over,
caches are trimmed, a snapshot is taken of what is sound. What was done is kept as a report.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import BarnacleError, StorageFull
from agent.memory.base import CONVERSATION, Memory, MemoryEntry, StoreLimits, Tidied, Upkept
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_DAY_S = 86_400.0
# Memories that are written at a time
_PAGE = 500


async def put_away(memory: Memory, folder: Path, now_s: float, days: int) -> int:
    """Put every older conversation into the archive; return how many.

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
        by_year.setdefault(year, []).append(msgspec.json.encode(_line(entry)) + b"\n")
    for year, lines in by_year.items():
        _add(folder / f"{year}.jsonl", lines)


def _add(path: Path, lines: Sequence[bytes]) -> None:
    """Append the lines that are not there: a cut may come before they go from the memory."""
    new = dict.fromkeys(lines)
    last = b"\n"
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+b") as file:
        file.seek(0)
        for last in file:
            new.pop(last, None)
        # Half a line that a cut has left spoils no other
        file.write((b"" if last.endswith(b"\n") else b"\n") + b"".join(new))
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


_log = logging.getLogger(__name__)

INTERVAL_S = 12 * 3600.0
# How often it is seen whether it is time: the clock of a small board may jump when it is set
LOOK_S = 600.0
# A start has better things to do
FIRST_LOOK_S = 60.0
# An agent that is started again and again does not tidy up each time
LEAST_BETWEEN_S = 3600.0
# Who stops an agent waits for it
STOP_TIMEOUT_S = 10.0


class Report(msgspec.Struct, frozen=True):
    """Report of the last upkeep; `trouble` is a sentence, or empty."""

    at_s: float = 0.0
    pruned: int = 0
    archived: int = 0
    merged: int = 0
    evicted: int = 0
    trimmed: int = 0
    memories: int = 0
    size_bytes: int = 0
    is_sound: bool = True
    trouble: str = ""

    @property
    def sentence(self) -> str:
        """Return the report as a sentence."""
        if not self.at_s:
            return "not yet"
        done = (
            f"removed {self.pruned} old conversations, {self.merged} duplicates and "
            f"{self.evicted} others; {self.memories} memories in {self.size_bytes // 1024} KB"
        )
        state = "" if self.is_sound else "; THE DATABASE IS DAMAGED"
        return f"{done}{state}{'; ' if self.trouble else ''}{self.trouble}"


class Chores(Struct, frozen=True):
    """Chores of hygiene beyond the store, set by the agent.

    Args:
        archive: where old conversations go; None lets them go for good.
        snapshot: takes one; says itself what went wrong.
        trim: shortens the caches; how many entries went.
    """

    limits: StoreLimits
    archive: Path | None
    snapshot: Callable[[], Awaitable[None]]
    trim: Callable[[], Awaitable[int]]


class Hygiene:
    """Runs memory maintenance on schedule.

    Args:
        report_file: what was done last, also for the next run of the agent.
    """

    def __init__(self, memory: Memory, chores: Chores, report_file: Path, clock: Clock) -> None:
        self._memory = memory
        self._chores = chores
        self._report_file = report_file
        self._clock = clock

    async def run(self) -> None:
        """Check from time to time until cancelled."""
        await self._clock.sleep(FIRST_LOOK_S)
        while True:
            if await self._age_s() >= INTERVAL_S:
                report = await self.clean()
                _log.info("memory: maintenance done: %s", report.sentence)
            await self._clock.sleep(LOOK_S)

    async def stop(self) -> None:
        """Run maintenance once more at shutdown, unless it just ran, within a time limit.

        A snapshot is not among it: whoever closes the memory takes the last one.
        """
        if await self._age_s() < LEAST_BETWEEN_S:
            return
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await self._tidy()
        except TimeoutError:
            _log.warning("memory: maintenance cut off (limit_s=%s)", STOP_TIMEOUT_S)

    async def clean(self) -> Report:
        """Run all maintenance; failures go into the report and are never raised."""
        report = await self._tidy()
        if report.is_sound and not report.trouble:
            # The snapshot that is there is better than one of a damaged store
            await self._chores.snapshot()
        return report

    async def _tidy(self) -> Report:
        now_s = self._clock.wall_s()
        try:
            report = await self._done(now_s)
        except (BarnacleError, OSError) as err:
            _log.warning("memory: maintenance failed: %s", err)
            report = Report(at_s=now_s, trouble=str(err))
        if not report.is_sound:
            _log.error("memory: database damaged; the next start restores it from its snapshot")
        await self._keep(report)
        return report

    async def _done(self, now_s: float) -> Report:
        chores = self._chores
        archived, tidied = 0, Tidied()
        # What stays in the memory needs no archive
        if isinstance(self._memory, Upkept):
            if chores.archive is not None:
                days = chores.limits.conversation_days
                archived = await put_away(self._memory, chores.archive, now_s, days)
            tidied = await self._memory.tidy(chores.limits, now_s)
        trimmed = await chores.trim()
        stats = await self._memory.stats()
        return Report(
            now_s,
            tidied.pruned,
            archived,
            tidied.merged,
            tidied.evicted,
            trimmed,
            stats.count,
            stats.size_bytes,
            tidied.is_sound,
        )

    async def _age_s(self) -> float:
        """Return the seconds since the last run; a time in the future counts as none."""
        last = await asyncio.to_thread(last_report, self._report_file)
        age_s = self._clock.wall_s() - last.at_s
        return age_s if age_s >= 0 else INTERVAL_S

    async def _keep(self, report: Report) -> None:
        try:
            content = msgspec.json.encode(report)
            await asyncio.to_thread(write_atomic, self._report_file, content)
        except (StorageFull, OSError) as err:
            _log.warning("memory: report not saved: %s", err)


def last_report(path: Path) -> Report:
    """Return the last report; an empty one if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return Report()
