"""Store of readings: the newest in a ring of slots, the rest in `readings.db` as packed days.

Promises: a batch that was written is there after any cut, once; what was not is lost as a whole.
Times are those of the wall clock, as far as it was ever known. One task records, any may ask.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.errors import StorageFull
from agent.readings import packing
from agent.readings.batch import Batch, in_order, offsets, placed
from agent.readings.columns import Columns, in_buckets, lengthen, merged, of_values
from agent.readings.ring import SLOTS, Ring
from agent.readings.ring_device import ring_on
from agent.readings.series import Series, SeriesKind
from agent.readings.summary import Moment
from agent.storage.worker import DatabaseWorker

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
# Values that are held where nothing can be written: some minutes of many sensors
_MOST_HELD = 20_000

_log = logging.getLogger(__name__)


class ReadingStore:
    """Everything that was recorded.

    Args:
        boot: name of this start of the machine.
        device: for the ring, where there is such a device.
    """

    def __init__(
        self,
        folder: Path,
        retention: packing.Retention,
        boot: str,
        slots: int = SLOTS,
        device: Path | None = None,
    ) -> None:
        self.database = DatabaseWorker(folder / "readings.db", packing.MIGRATIONS)
        self._ring = Ring(folder / "readings.ring", slots)
        self._retention = retention
        self._boot = boot
        self._device = device
        self._known: dict[str, Series] = {}
        self._batches: list[Batch] = []
        self._current = Batch(1, boot, 0, is_sure=False)
        self._packed_day = 0
        self._version = 0
        self._lock = asyncio.Lock()
        self._is_open = False
        # Why nothing is recorded; empty while it is
        self.trouble = ""

    async def open(self) -> None:
        """Read what an earlier run has left; later, what another program has brought."""
        async with self._lock:
            if self._is_open:
                await self._learn_series()
                return
            self._version = await self.database.look(packing.version_of)
            state = await self.database.look(packing.read_state)
            self._known = {one.name: one for one in state.series}
            self._packed_day = state.day
            left = await asyncio.to_thread(self._left, state.mark)
            self._batches = in_order(left, state.number)
            last = self._batches[-1].number if self._batches else state.number
            self._current = Batch(last + 1, self._boot, 0, is_sure=False)
            self._is_open = True

    async def series(self, kind: SeriesKind, cadence_s: int) -> Series:
        """Return the series of that name; make it where it is new or has changed.

        Raises:
            StorageFull: there is no room for a new one.
        """
        found = self._known.get(kind.name)
        if found is None or (found.kind, found.cadence_s) != (kind, cadence_s):
            found = await self.database.transact(
                lambda db: packing.keep_series(db, kind, cadence_s)
            )
            self._known[kind.name] = found
        return found

    def every_series(self) -> Sequence[Series]:
        return sorted(self._known.values(), key=lambda one: one.name)

    def latest(self) -> Mapping[Series, float]:
        """Return the newest value of each reading that was recorded lately."""
        found: dict[Series, float] = {}
        for series in self.every_series():
            for batch in (self._current, *reversed(self._batches[-_LATELY:])):
                if series.id in batch.values:
                    times, values = batch.values[series.id]
                    found[series] = values[times.index(max(times))]
                    break
        return found

    def newest(self) -> Mapping[Series, Moment]:
        """Return the same with their times, as soon as the time is known."""
        batches = [*self._batches[-_LATELY:], self._current]
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

        One that is cancelled is finished all the same: the next one waits for it.
        """
        # Held here: the loop itself keeps no task alive
        self._committing = asyncio.ensure_future(self._commit(now_ms))
        await asyncio.shield(self._committing)

    async def _commit(self, now_ms: int) -> None:
        async with self._lock:
            try:
                await self._write()
                await self._pack(now_ms)
            except StorageFull as err:
                self._complain(f"readings are not recorded: {err}")
            else:
                self._complain("")

    async def rows(self, series: Series, begin_ms: int, end_ms: int) -> Columns:
        """Return the rows of a span: values where it is short, quarters of an hour where not.

        Args:
            end_ms: not in the future, because the newest value is taken to last until then.
        """
        is_fine = end_ms - begin_ms <= FINE_MS
        found = await self.database.look(
            lambda db: packing.kept_rows(db, series, begin_ms, end_ms, is_fine=is_fine)
        )
        newest = self.unfiled(series)
        lengthen(newest, end_ms, series.cadence_s, is_switch=series.kind.is_switch)
        if not is_fine:
            newest = in_buckets(newest, QUARTER_MS)
        return _joined(found, newest).between(begin_ms, end_ms)

    async def aclose(self) -> None:
        async with self._lock:
            await self.database.aclose()

    async def _learn_series(self) -> None:
        version = await self.database.look(packing.version_of)
        if version != self._version:
            state = await self.database.look(packing.read_state)
            self._known |= {one.name: one for one in state.series}
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
        """Return the newest values, which are not in the database yet."""
        batches = [*self._batches, self._current]
        at_ms, values = placed(batches, offsets(batches), series.id)
        return of_values(at_ms, values, series.cadence_s, is_switch=series.kind.is_switch)

    async def _write(self) -> None:
        if not len(self._current):
            return
        if len(self._batches) >= self._ring.slots * _MOST_SHARE:
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
        self._current.number = parts[-1].number + 1

    async def _pack(self, now_ms: int) -> None:
        """Move what is in the ring to the database: much of it once a day, else when it fills."""
        today = now_ms // DAY_MS
        is_much = sum(map(len, self._batches)) >= _FEW_VALUES
        is_filling = len(self._batches) >= self._ring.slots * _FULL_SHARE
        if not self._batches or not self._current.is_sure:
            # The time of this start is not known yet
            return
        if not (is_filling or (is_much and 0 < self._packed_day != today)):
            self._packed_day = self._packed_day or today
            return
        known = offsets([*self._batches, self._current])
        lost = sum(len(one) for one in self._batches if one.number not in known)
        news = self._news(known)
        number = self._batches[-1].number
        job = packing.PackJob(news, number, today, self._retention)
        await self.database.transact(job.run)
        self._batches.clear()
        self._packed_day = today
        if lost:
            _log.warning("readings: values dropped, their time was never known (count=%d)", lost)

    def _news(self, known: Mapping[int, int]) -> list[packing.News]:
        found = []
        for series in self._known.values():
            at_ms, values = placed(self._batches, known, series.id)
            if at_ms:
                found.append(packing.News(series, at_ms, values))
        return found

    def _complain(self, trouble: str) -> None:
        if trouble and not self.trouble:
            _log.error("readings: recording stopped (reason=%s)", trouble)
        elif self.trouble and not trouble:
            _log.info("readings: recording goes on")
        self.trouble = trouble


def _joined(kept: Iterable[Columns], newest: Columns) -> Columns:
    rows = Columns()
    for one in kept:
        rows.extend(one)
    if rows.at_ms and newest.at_ms and newest.at_ms[0] <= rows.at_ms[-1]:
        # A clock that was set back, or a quarter of an hour that is packed by half
        return merged(rows, newest)
    rows.extend(newest)
    return rows
