"""Archive of an agent whose readings go to a server: the server, and what waits here for it.

Batches go to the server soon after they are in the ring. While it is away they stay in the ring,
and when that fills they are put aside in `readings.db`, from where they are moved later; so is what
was recorded before there was a server.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import ReadingsUnavailable
from agent.readings import packing
from agent.readings.archive import Archive, Kept, LocalArchive
from agent.readings.columns import Columns, merged, unpack_buckets
from agent.readings.packing import DAY_MS, ArchiveState, News, PackJob, Retention
from agent.readings.series import Series, SeriesKind
from agent.system.clock import Clock

# A server that did not answer is left alone: a question about ten readings waits once
COOL_DOWN_S = 10.0
# What is put aside keeps every value until the server has it
_EVERYTHING = Retention(36_500, 36_500, 36_500)
# Days that are moved between two lines of the log
_TOLD_DAYS = 30

_log = logging.getLogger(__name__)


class ServerArchive(Archive, Protocol):
    """Archive in a server; every call is bounded and may raise `ReadingsUnavailable`."""

    mark: int
    holds_back: bool

    async def add(
        self, series: Series, minutes: Columns, quarters: Columns, today: int, kept: Retention
    ) -> None:
        """Keep what another archive knows of minutes and quarters of an hour."""


class _Day(Struct):
    """One day of the local archive, by reading.

    Args:
        chunks: as they are, to be deleted if nobody changed them.
    """

    day: int
    chunks: list[tuple[int, int, bytes]]
    values: dict[int, Columns] = field(default_factory=dict)
    minutes: dict[int, Columns] = field(default_factory=dict)
    quarters: dict[int, Columns] = field(default_factory=dict)


class SharedArchive:
    """Archive in a server, with a local one for what waits."""

    def __init__(self, local: LocalArchive, server: ServerArchive, clock: Clock) -> None:
        self.local = local
        self._server = server
        self._clock = clock
        self._away_until_s = 0.0
        self._is_away = False
        # The server said which batches it has; before, numbers of a lost ring may come again
        self._knows_number = False

    async def state(self) -> ArchiveState:
        state = await self.local.state()
        self._server.mark = state.mark
        self._server.holds_back = await self.local.database.look(_has_chunks)
        try:
            number = await self.number()
        except ReadingsUnavailable:
            return state
        return replace(state, number=number)

    async def begin_anew(self) -> ArchiveState:
        """Return where the count of batches begins when the ring has none."""
        state = await self.state()
        if self._knows_number:
            return state
        mark = await self.local.database.transact(packing.renew_mark)
        self._server.mark = mark
        return replace(state, mark=mark)

    async def keep_series(self, cadences_s: Mapping[SeriesKind, int]) -> list[Series]:
        return await self.local.keep_series(cadences_s)

    async def rows(self, series: Series, begin_ms: int, end_ms: int, *, is_fine: bool) -> Kept:
        here = await self.local.rows(series, begin_ms, end_ms, is_fine=is_fine)
        if self._clock.monotonic_s() < self._away_until_s:
            return replace(here, is_whole=False)
        try:
            there = await self._server.rows(series, begin_ms, end_ms, is_fine=is_fine)
        except ReadingsUnavailable as err:
            self._note_away(err)
            return replace(here, is_whole=False)
        rows = [_fuller(here.rows, there.rows)] if here.rows else there.rows
        return Kept(rows, max(here.number, there.number))

    async def number(self) -> int:
        here = await self.local.number()
        try:
            there = await self._server.number()
        except ReadingsUnavailable as err:
            self._note_away(err)
            raise
        self._knows_number = True
        self._note_back()
        return max(here, there)

    async def pack(self, job: PackJob) -> None:
        try:
            await self._server.pack(job)
        except ReadingsUnavailable as err:
            self._note_away(err)
            raise

    async def put_aside(self, job: PackJob) -> None:
        """Keep here what the ring has no room for; it goes to the server later."""
        self._server.holds_back = True
        await self.local.pack(replace(job, retention=_EVERYTHING))
        _log.warning("readings: put aside until the server is back (batch=%d)", job.number)

    async def move(self, today: int, kept: Retention) -> None:
        """Move what waits here to the server, day by day; done again, it is there once."""
        days = 0
        known = {one.id: one for one in (await self.local.state()).series}
        look, drop = self.local.database.look, self.local.database.transact
        while (found := await look(partial(_oldest, known=known))) is not None:
            if not days:
                _log.info("readings: moving to the server (from=%s)", _date(found.day))
            await self._move_day(found, known, today, kept)
            await drop(partial(_drop, moved=found))
            days += 1
            if not days % _TOLD_DAYS:
                _log.info("readings: moving to the server (days=%d, at=%s)", days, _date(found.day))
        if days:
            _log.info("readings: all is moved to the server (days=%d)", days)
        self._server.holds_back = False

    async def aclose(self) -> None:
        await self._server.aclose()
        await self.local.aclose()

    async def _move_day(
        self, found: _Day, known: Mapping[int, Series], today: int, kept: Retention
    ) -> None:
        nothing = Columns()
        try:
            for number, series in known.items():
                minutes = found.minutes.get(number, nothing)
                quarters = found.quarters.get(number, nothing)
                if len(minutes) or len(quarters):
                    await self._server.add(series, minutes, quarters, today, kept)
                if values := found.values.get(number):
                    news = News(series, values.at_ms, values.means)
                    await self._server.pack(PackJob([news], 0, today, kept))
        except ReadingsUnavailable as err:
            self._note_away(err)
            raise

    def _note_away(self, err: ReadingsUnavailable) -> None:
        self._away_until_s = self._clock.monotonic_s() + COOL_DOWN_S
        if not self._is_away:
            self._is_away = True
            _log.warning("readings: server away, they wait here (error=%s)", err)

    def _note_back(self) -> None:
        self._away_until_s = 0.0
        if self._is_away:
            self._is_away = False
            _log.info("readings: server is back")


def _has_chunks(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM chunk LIMIT 1").fetchone() is not None


def _oldest(db: sqlite3.Connection, known: Mapping[int, Series]) -> _Day | None:
    """Return the oldest day that is here, as finely as it is kept."""
    rows = db.execute(
        "SELECT day, series, level, data FROM chunk WHERE day = (SELECT min(day) FROM chunk)"
        " ORDER BY level DESC"
    ).fetchall()
    if not rows:
        return None
    found = _Day(rows[0][0], [row[1:] for row in rows])
    # Quarters first, single values last: they say what the minutes of that day say, and more
    for series_id, level, data in found.chunks:
        if level == packing.QUARTERS:
            found.quarters[series_id] = unpack_buckets(data)
        elif packing.has_exact_times(data):
            found.values[series_id] = packing.unpacked(known[series_id], data)
            found.minutes.pop(series_id, None)
        else:
            found.minutes[series_id] = packing.unpacked(known[series_id], data)
    return found


def _drop(db: sqlite3.Connection, moved: _Day) -> None:
    """Delete what was moved, as far as nobody has changed it since."""
    db.executemany(
        "DELETE FROM chunk WHERE day = ? AND series = ? AND level = ? AND data = ?",
        [(moved.day, *chunk) for chunk in moved.chunks],
    )


def _fuller(here: Sequence[Columns], there: Sequence[Columns]) -> Columns:
    """Return the rows of both places; of two with one time, the one with more values."""
    both = Columns()
    for one in (*here, *there):
        both = merged(both, one)
    best: dict[int, int] = {}
    for at, at_ms in enumerate(both.at_ms):
        if at_ms not in best or both.counts[at] > both.counts[best[at_ms]]:
            best[at_ms] = at
    kept = list(best.values())
    return Columns(*([column[at] for at in kept] for column in both.every()))  # type: ignore[arg-type]  # each column keeps its type


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1000, tz=UTC).date().isoformat()
