"""Looking after what is remembered: twice a day and at the end, whatever keeps it.

Old conversations go (into the archive, where one is wanted), the store is tidied and looked over,
caches are trimmed, a snapshot is taken of what is sound. What was done is kept as a report.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.errors import BarnacleError, StorageFull
from agent.memory import archive
from agent.memory.base import Limits, Memory, Tidied, Upkept
from agent.storage.files import write_atomic

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
        """For people."""
        if not self.at_s:
            return "not yet"
        done = (
            f"{self.pruned} old conversations, {self.merged} duplicates and {self.evicted} others"
            f" went; {self.memories} memories in {self.size_bytes // 1024} KB"
        )
        state = "" if self.is_sound else "; THE DATABASE IS DAMAGED"
        return f"{done}{state}{'; ' if self.trouble else ''}{self.trouble}"


@dataclass(frozen=True, slots=True)
class Chores:
    """Chores of hygiene beyond the store, set by the agent.

    Args:
        archive: where old conversations go; None lets them go for good.
        snapshot: takes one; says itself what went wrong.
        trim: shortens the caches; how many entries went.
    """

    limits: Limits
    archive: Path | None
    snapshot: Callable[[], Awaitable[None]]
    trim: Callable[[], Awaitable[int]]


class Hygiene:
    """Does it when it is time.

    Args:
        report_file: what was done last, also for the next run of the agent.
    """

    def __init__(self, memory: Memory, chores: Chores, report_file: Path, clock: Clock) -> None:
        self._memory = memory
        self._chores = chores
        self._report_file = report_file
        self._clock = clock

    async def run(self) -> None:
        """Look from time to time; until cancelled."""
        await self._clock.sleep(FIRST_LOOK_S)
        while True:
            if await self._age_s() >= INTERVAL_S:
                report = await self.clean()
                _log.info("memory: %s", report.sentence)
            await self._clock.sleep(LOOK_S)

    async def stop(self) -> None:
        """The end of the agent: once more, unless it was done just now, and not for long.

        A snapshot is not among it: whoever closes the memory takes the last one.
        """
        if await self._age_s() < LEAST_BETWEEN_S:
            return
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await self._tidy()
        except TimeoutError:
            _log.warning("the memory was not tidied up within %s s", STOP_TIMEOUT_S)

    async def clean(self) -> Report:
        """Everything at once; what went wrong is in the report, never raised."""
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
            _log.warning("the memory was not tidied up: %s", err)
            report = Report(at_s=now_s, trouble=str(err))
        if not report.is_sound:
            _log.error("the memory is damaged: at the next start it comes back from its snapshot")
        await self._keep(report)
        return report

    async def _done(self, now_s: float) -> Report:
        chores = self._chores
        archived = 0
        if chores.archive is not None:
            days = chores.limits.conversation_days
            archived = await archive.put_away(self._memory, chores.archive, now_s, days)
        tidied = Tidied()
        if isinstance(self._memory, Upkept):
            tidied = await self._memory.tidy(chores.limits)
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
        """Since the last time; a time in the future, of a clock that was wrong, counts as none."""
        last = await asyncio.to_thread(last_report, self._report_file)
        age_s = self._clock.wall_s() - last.at_s
        return age_s if age_s >= 0 else INTERVAL_S

    async def _keep(self, report: Report) -> None:
        try:
            content = msgspec.json.encode(report)
            await asyncio.to_thread(write_atomic, self._report_file, content)
        except (StorageFull, OSError) as err:
            _log.warning("the report on the memory is not on disk: %s", err)


def last_report(path: Path) -> Report:
    """Return the last report; an empty one if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return Report()
