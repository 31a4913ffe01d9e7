"""Recorder: takes every reading at its cadence, switches at each change, and has them kept.

It waits for nobody and nobody waits for it: a board that is away, a sensor that refuses or a full
disk leaves a gap.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Protocol

from agent.errors import BarnacleError, LinkError
from agent.readings.series import SeriesKind
from agent.readings.settings import ReadingsSettings
from agent.readings.sources import ChangeNote
from agent.readings.store import ReadingStore
from agent.system.clock import Clock
from agent.system.repeats import RepeatedTrouble

# The shortest cadence; switches are looked at as often, so that few changes are missed
LOOK_S = 10
# Each write costs a card a block; a power cut costs what was not written yet
COMMIT_S = 595.0

_log = logging.getLogger(__name__)


class ReadingSource(Protocol):
    """Source of readings: a board, or this machine."""

    async def take(self, wanted: Callable[[str], bool]) -> Mapping[SeriesKind, float]:
        """Return the present values of the wanted readings; what cannot be read is left out."""

    @property
    def follow(self) -> Callable[[ChangeNote], Coroutine[None, None, None]]:
        """Return the task that notes changes as they happen, as far as the source tells them."""


class Recorder:
    """Records the readings of some sources.

    Args:
        is_sure: says if the wall clock is right.
    """

    def __init__(
        self,
        store: ReadingStore,
        sources: Sequence[ReadingSource],
        settings: ReadingsSettings,
        clock: Clock,
        is_sure: Callable[[], bool],
    ) -> None:
        self._store = store
        self._sources = sources
        self._settings = settings
        self._clock = clock
        self._is_sure = is_sure
        self._due_s: dict[str, float] = {}
        self._last: dict[str, float] = {}
        # Switches are looked at more often than they are written down
        self._switches: set[str] = set()
        self._untaken = RepeatedTrouble(_log, clock.monotonic_s)

    async def run(self) -> None:
        """Until cancelled; what was taken is written at the end."""
        await self._clock.sleep(self._pause_s())
        await self._open()
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in self._sources:
                    tasks.create_task(source.follow(self.note))
                await self._look_again_and_again()
        finally:
            await self.commit()

    async def _open(self) -> None:
        """Open the store; where the disk is full, try until it is not."""
        while True:
            try:
                await self._store.open()
            except BarnacleError as err:
                self._untaken.met(f"readings: recording not begun (error={err})", logging.ERROR)
                await self._clock.sleep(COMMIT_S)
            else:
                return

    async def note(self, kind: SeriesKind, value: float, at_s: float) -> None:
        """Keep a change of a switch that a source tells by itself."""
        if not self._settings.cadence_s(kind.name):
            return
        try:
            await self._keep(kind, value, at_s)
        except BarnacleError as err:
            self._untaken.met(f"readings: change not kept (error={err})")

    async def _look_again_and_again(self) -> None:
        commit_s = self._clock.monotonic_s() + COMMIT_S
        while True:
            await self.look()
            if self._clock.monotonic_s() >= commit_s:
                await self.commit()
                commit_s = self._clock.monotonic_s() + COMMIT_S
            await self._clock.sleep(self._pause_s())

    async def look(self) -> None:
        """Take what is due now from every source."""
        await asyncio.gather(*map(self._look_at, self._sources))

    async def commit(self) -> None:
        wall_ms = round(self._clock.wall_s() * 1000)
        offset_ms = wall_ms - round(self._clock.monotonic_s() * 1000)
        self._store.place(offset_ms, is_sure=self._is_sure())
        await self._store.commit(wall_ms)

    async def _look_at(self, source: ReadingSource) -> None:
        now_s = self._clock.monotonic_s()
        try:
            taken = await source.take(lambda name: self._is_due(name, now_s))
            # At once: a board has many, and each by itself would be flushed to the card
            await self._store.learn({kind: self._settings.cadence_s(kind.name) for kind in taken})
            for kind, value in taken.items():
                await self._keep(kind, value, now_s)
        except LinkError:
            # Away: a gap
            return
        except BarnacleError as err:
            self._untaken.met(f"readings: value not kept (error={err})")

    async def _keep(self, kind: SeriesKind, value: float, now_s: float) -> None:
        name, cadence_s = kind.name, self._settings.cadence_s(kind.name)
        if kind.is_switch:
            self._switches.add(name)
            if value == self._last.get(name) and now_s < self._due_s.get(name, now_s):
                return
        self._last[name] = value
        self._due_s[name] = _next(now_s, cadence_s)
        series = await self._store.series(kind, cadence_s)
        self._place()
        self._store.add(series, now_s, value)

    def _place(self) -> None:
        offset_ms = round((self._clock.wall_s() - self._clock.monotonic_s()) * 1000)
        self._store.place(offset_ms, is_sure=self._is_sure())

    def _is_due(self, name: str, now_s: float) -> bool:
        if not self._settings.cadence_s(name):
            return False
        return name in self._switches or now_s >= self._due_s.get(name, now_s)

    def _pause_s(self) -> float:
        """Return the time to the next look, on the wall clock's tens of seconds."""
        return LOOK_S - self._clock.wall_s() % LOOK_S


def _next(now_s: float, cadence_s: int) -> float:
    """Return when the reading is due again; a look that came a little late delays no other."""
    return now_s + cadence_s - LOOK_S / 2
