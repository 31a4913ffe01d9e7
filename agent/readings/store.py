"""Store of readings: the newest in a ring of slots, the rest in an archive.

Promises: a batch that was written is there after any cut, once; what was not is lost as a whole.
Times are those of the wall clock, as far as it was ever known. One task records, any may ask.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.errors import ReadingsUnavailable, StorageFull
from agent.readings import packing
from agent.readings.archive import Archive, LocalArchive
from agent.readings.batch import Batch, in_order, offsets, placed
from agent.readings.columns import Columns, in_buckets, last_until, lengthen, merged, of_values
from agent.readings.ring import SLOTS, Ring
from agent.readings.ring_device import ring_on
from agent.readings.series import Series, SeriesKind
from agent.readings.summary import Moment

if TYPE_CHECKING:
    from agent.readings.shared_archive import SharedArchive

DAY_MS = 86_400_000
QUARTER_MS = 900_000
# Up to here every value is looked at; beyond, quarters of an hour say enough
FINE_MS = 3 * DAY_MS
# Packed when so much of the ring is used, whatever the day
_FULL_SHARE = 0.75
# So few values wait for that, longer than a day: a pack writes some 100 KB, however little is new,
# and these take no more than two megabytes of memory
_FEW_VALUES = 20_000
# Beyond it a large batch could write over what is not packed
_MOST_SHARE = 0.95
# Batches in which a value is still news: some twenty minutes
_LATELY = 2
# Values that go to a server at once: its transaction is short, and a slow one takes seconds
_PORTION_VALUES = 1000
# The end of an agent waits so long for a server; what is not there by then is in the ring
_CLOSE_WAIT_S = 2.0
# Values that are held where nothing can be written: some minutes of many sensors
_MOST_HELD = 20_000

_log = logging.getLogger(__name__)


class ReadingStore:
    """Everything that was recorded.

    Args:
        boot: name of this start of the machine.
        device: for the ring, where there is such a device.
        shared: where a server keeps the readings; None keeps them in `readings.db`.
    """

    def __init__(
        self,
        folder: Path,
        retention: packing.Retention,
        boot: str,
        slots: int = SLOTS,
        device: Path | None = None,
        shared: "SharedArchive | None" = None,
    ) -> None:
        local = LocalArchive(folder) if shared is None else shared.local
        self.database = local.database
        self._archive: Archive = shared or local
        self._shared = shared
        self._ring = Ring(folder / "readings.ring", slots)
        self._retention = retention
        self._boot = boot
        self._device = device
        self._known: dict[str, Series] = {}
        self._batches: list[Batch] = []
        # The newest batches, wherever they are
        self._lately: list[Batch] = []
        self._moving: asyncio.Task[None] | None = None
        # Nothing was left in the ring: what is counted from now on must not be taken for old
        self._begins_anew = False
        self._mark = 0
        self._current = Batch(1, boot, 0, is_sure=False)
        self._packed_day = 0
        self._version = 0
        self._lock = asyncio.Lock()
        self._is_open = False
        # Why nothing is recorded; empty while it is
        self.trouble = ""
        # The last answer has only what this machine still has: the server did not answer
        self.is_partial = False

    async def open(self) -> None:
        """Read what an earlier run has left; later, what another program has brought."""
        async with self._lock:
            if self._is_open:
                await self._learn_series()
                return
            self._version = await self.database.look(packing.version_of)
            state = await self._archive.state()
            self._known = {one.name: one for one in state.series}
            self._packed_day = state.day
            left = await asyncio.to_thread(self._left, state.mark)
            self._mark, self._begins_anew = state.mark, not left and self._shared is not None
            self._batches = in_order(left, state.number)
            self._lately = self._batches[-_LATELY:]
            last = self._batches[-1].number if self._batches else state.number
            self._current = Batch(last + 1, self._boot, 0, is_sure=False)
            self._is_open = True

    async def series(self, kind: SeriesKind, cadence_s: int) -> Series:
        """Return the series of that name; make it where it is new or has changed.

        Raises:
            StorageFull: there is no room for a new one.
        """
        await self.learn({kind: cadence_s})
        return self._known[kind.name]

    async def learn(self, cadences_s: Mapping[SeriesKind, int]) -> None:
        """Make the series that are new or have changed, in one transaction; raises as `series`."""
        known = {(one.kind, one.cadence_s) for one in self._known.values()}
        if new := {one: each for one, each in cadences_s.items() if (one, each) not in known}:
            self._known = _renewed(self._known, await self._archive.keep_series(new))

    def every_series(self) -> Sequence[Series]:
        return sorted(self._known.values(), key=lambda one: one.name)

    def latest(self) -> Mapping[Series, float]:
        """Return the newest value of each reading that was recorded lately."""
        found: dict[Series, float] = {}
        for series in self.every_series():
            for batch in (self._current, *reversed(self._lately)):
                if series.id in batch.values:
                    times, values = batch.values[series.id]
                    found[series] = values[times.index(max(times))]
                    break
        return found

    def newest(self) -> Mapping[Series, Moment]:
        """Return the same with their times, as soon as the time is known."""
        batches = [*self._lately, self._current]
        known = offsets(batches)
        found: dict[Series, Moment] = {}
        for series in self.every_series():
            at_ms, values = placed(batches, known, series.id)
            if at_ms:
                found[series] = Moment(values[-1], at_ms[-1])
        return found

    def add(self, series: Series, monotonic_s: float, value: float) -> None:
        """Note a value; it is durable after the next `commit`."""
        if len(self._current) < _MOST_HELD:
            self._current.add(series.id, round(monotonic_s * 1000), value)

    def place(self, offset_ms: int, *, is_sure: bool) -> None:
        """Note what the wall clock says now."""
        self._current.offset_ms, self._current.is_sure = offset_ms, is_sure

    async def commit(self, now_ms: int) -> None:
        """Write what was noted; never raises for want of room, but says so in `trouble`.

        What is for a server goes there in the background: recording waits for none. A call that is
        cancelled is finished all the same: the next one waits for it.
        """
        # Held here: the loop itself keeps no task alive
        self._committing = asyncio.ensure_future(self._commit(now_ms))
        await asyncio.shield(self._committing)

    async def _commit(self, now_ms: int) -> None:
        async with self._lock:
            try:
                if self._is_full():
                    await self._pack(now_ms)
                await self._write()
                if self._shared is None:
                    await self._pack(now_ms)
            except StorageFull as err:
                self._complain(f"readings are not recorded: {err}")
            else:
                self._complain("")
        if self._shared is not None and (self._moving is None or self._moving.done()):
            self._moving = asyncio.create_task(self._move(self._shared, now_ms))

    async def settle(self) -> None:
        """Wait until what goes to a server is there, or the server has not answered."""
        if self._moving is not None:
            await asyncio.wait([self._moving])

    async def rows(self, series: Series, begin_ms: int, end_ms: int) -> Columns:
        """Return the rows of a span: values where it is short, quarters of an hour where not.

        Args:
            end_ms: not in the future, because the newest value is taken to last until then.
        """
        is_fine = end_ms - begin_ms <= FINE_MS
        # Before the archive is asked: what goes there meanwhile is not missed
        batches, current = [*self._batches], self._current
        found = await self._archive.rows(series, begin_ms, end_ms, is_fine=is_fine)
        if not found.is_whole:
            batches = await self._recalled(found.number, batches)
        left = [one for one in (*batches, current) if one.number > found.number]
        newest = self._placed(series, left)
        self.is_partial = not found.is_whole and not _reaches(batches, begin_ms)
        lengthen(newest, end_ms, series.cadence_s, is_switch=series.kind.is_switch)
        if not is_fine:
            newest = in_buckets(newest, QUARTER_MS)
        return _joined(series, found.rows, newest).between(begin_ms, end_ms)

    async def aclose(self) -> None:
        if self._moving is not None:
            await asyncio.wait([self._moving], timeout=_CLOSE_WAIT_S)
            self._moving.cancel()
            await asyncio.wait([self._moving])
        async with self._lock:
            await self._archive.aclose()

    async def _learn_series(self) -> None:
        version = await self.database.look(packing.version_of)
        if version != self._version:
            state = await self.database.look(packing.read_state)
            self._known = {one.name: one for one in state.series}
            self._version = version

    def _left(self, mark: int) -> list[Batch]:
        """Return the batches of the file and of the device, which is written to from now on."""
        left = self._ring.read()
        found = None if self._device is None else ring_on(self._device, mark, self._ring.slots)
        if found is not None:
            self._ring = found
            left += found.read()
        return left

    def unfiled(self, series: Series) -> Columns:
        """Return the newest values, which are not in the archive yet."""
        return self._placed(series, [*self._batches, self._current])

    async def _recalled(self, number: int, batches: list[Batch]) -> list[Batch]:
        """Return what the ring still has, moved or not: the server is away."""
        left = {one.number: one for one in await asyncio.to_thread(self._ring.read)}
        left |= {one.number: one for one in batches}
        return sorted((one for one in left.values() if one.number > number), key=_number)

    def _placed(self, series: Series, kept: Sequence[Batch]) -> Columns:
        at_ms, values = placed(kept, offsets(kept), series.id)
        return of_values(at_ms, values, series.cadence_s, is_switch=series.kind.is_switch)

    async def _write(self) -> None:
        if not len(self._current):
            return
        if self._begins_anew and self._shared is not None:
            await self._begin_anew(self._shared)
        if self._is_full():
            raise StorageFull("there is no room to pack what was recorded")
        writing = self._current
        self._current = replace(writing, number=writing.number + 1, values={})
        try:
            parts = await asyncio.to_thread(self._ring.write, writing)
        except StorageFull:
            # Tried again with what comes next
            for series_id, (times, values) in self._current.values.items():
                for at_ms, value in zip(times, values, strict=True):
                    writing.add(series_id, at_ms, value)
            self._current = writing
            raise
        self._batches += parts
        self._lately = [*self._lately, *parts][-_LATELY:]
        self._current.number = parts[-1].number + 1

    def _is_full(self) -> bool:
        return len(self._batches) >= self._ring.slots * _MOST_SHARE

    def _is_filling(self) -> bool:
        return len(self._batches) >= self._ring.slots * _FULL_SHARE

    async def _begin_anew(self, shared: "SharedArchive") -> None:
        """Count from where the archive says: the ring that was counted in may be lost."""
        state = await shared.begin_anew()
        if state.mark != self._mark:
            self._mark = state.mark
            await asyncio.to_thread(self._left, state.mark)
        self._current.number = max(self._current.number, state.number + 1)
        self._begins_anew = False

    async def _move(self, shared: "SharedArchive", now_ms: int) -> None:
        """Move what is in the ring and beside it to the server; put it aside if that fills."""
        if not self._current.is_sure:
            return
        try:
            try:
                await self._send(shared, now_ms)
            except ReadingsUnavailable:
                async with self._lock:
                    if self._is_filling():
                        await self._pack(now_ms)
        except StorageFull as err:
            _log.warning("readings: not moved to the server (error=%s)", err)

    async def _send(self, shared: "SharedArchive", now_ms: int) -> None:
        self._forget_packed(await shared.number())
        while self._batches:
            job = self._job(_portion(self._batches), now_ms)
            await shared.pack(job)
            self._forget_packed(job.number)
        await shared.move(now_ms // DAY_MS, self._retention)

    async def _pack(self, now_ms: int) -> None:
        """Move what is in the ring to the database: much of it once a day, else when it fills."""
        today = now_ms // DAY_MS
        is_much = sum(map(len, self._batches)) >= _FEW_VALUES
        if not self._batches or not self._current.is_sure:
            # The time of this start is not known yet
            return
        if not (self._is_filling() or (is_much and 0 < self._packed_day != today)):
            self._packed_day = self._packed_day or today
            return
        job = self._job(self._batches, now_ms)
        if self._shared is None:
            await self._archive.pack(job)
        else:
            await self._shared.put_aside(job)
        self._forget_packed(job.number)
        self._packed_day = today

    def _job(self, batches: Sequence[Batch], now_ms: int) -> packing.PackJob:
        known = offsets([*self._batches, self._current])
        if lost := sum(len(one) for one in batches if one.number not in known):
            _log.warning("readings: values dropped, their time was never known (count=%d)", lost)
        news = self._news(batches, known)
        return packing.PackJob(news, batches[-1].number, now_ms // DAY_MS, self._retention)

    def _forget_packed(self, number: int) -> None:
        self._batches = [one for one in self._batches if one.number > number]

    def _news(self, batches: Sequence[Batch], known: Mapping[int, int]) -> list[packing.News]:
        found = []
        for series in self._known.values():
            at_ms, values = placed(batches, known, series.id)
            if at_ms:
                found.append(packing.News(series, at_ms, values))
        return found

    def _complain(self, trouble: str) -> None:
        if trouble and not self.trouble:
            _log.error("readings: recording stopped (reason=%s)", trouble)
        elif self.trouble and not trouble:
            _log.info("readings: recording goes on")
        self.trouble = trouble


def _number(batch: Batch) -> int:
    return batch.number


def _renewed(known: Mapping[str, Series], kept: Iterable[Series]) -> dict[str, Series]:
    """Return the series by their names, of which some may have changed."""
    by_id = {one.id: one for one in (*known.values(), *kept)}
    return {one.name: one for one in by_id.values()}


def _reaches(batches: Sequence[Batch], begin_ms: int) -> bool:
    """Return true if the first batch began before that time."""
    known = offsets(batches)
    return any(
        times[0] + known[one.number] <= begin_ms
        for one in batches[:1]
        if one.number in known
        for times, _ in one.values.values()
    )


def _portion(batches: Iterable[Batch]) -> list[Batch]:
    """Return the first batches, as many as go to a server at once."""
    portion: list[Batch] = []
    for batch in batches:
        portion.append(batch)
        if sum(map(len, portion)) >= _PORTION_VALUES:
            break
    return portion


def _connect(series: Series, pieces: Sequence[Columns]) -> None:
    """Let the last value of each piece last until the first one of the next."""
    for piece, later in pairwise(filter(len, pieces)):
        last_until(piece, later.at_ms[0], series.cadence_s, is_switch=series.kind.is_switch)


def _joined(series: Series, kept: Sequence[Columns], newest: Columns) -> Columns:
    _connect(series, [*kept, newest])
    rows = Columns()
    for one in kept:
        rows.extend(one)
    if rows.at_ms and newest.at_ms and newest.at_ms[0] <= rows.at_ms[-1]:
        # A clock that was set back, or a quarter of an hour that is packed by half
        return merged(rows, newest)
    rows.extend(newest)
    return rows
