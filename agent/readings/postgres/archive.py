"""Archive of readings in a PostgreSQL server: rows of this agent beside those of others.

Each call is bounded in time and fails as `ReadingsUnavailable`; whatever came of it, it may be
done again.
"""

import itertools
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec.structs import replace

from agent.config import Secret
from agent.errors import ReadingsUnavailable
from agent.readings.archive import Kept
from agent.readings.columns import HELD_CADENCES, Columns, in_buckets, merged, of_values
from agent.readings.packing import DAY_MS, MINUTE_MS, ArchiveState, News, PackJob, Retention
from agent.readings.postgres import statements
from agent.readings.postgres.tables import prepare, use_timescale
from agent.readings.series import Series, SeriesKind, renamed
from agent.storage.postgres.connection import Server
from agent.storage.postgres.pipeline import Connection
from agent.system.clock import Clock

_DAY_S = DAY_MS // 1000
_VALUES = 0
_Given = Mapping[str, object]


class PostgresArchive:
    """Readings of one agent in a server.

    Args:
        agent: its name there; nobody else has it.
    """

    def __init__(self, url: Secret, clock: Clock, agent: str) -> None:
        self._server = Server(url, clock, self._prepare, ReadingsUnavailable)
        self._agent = agent
        self._tried_timescale = False
        # The day on which old rows were deleted last
        self._forgotten_day = 0
        # Of the local store whose batches are counted
        self.mark = 0
        # Nothing is forgotten before everything that waits elsewhere is here
        self.holds_back = False

    async def state(self) -> ArchiveState:
        return await self._server.look(self._state)

    async def keep_series(self, cadences_s: Mapping[SeriesKind, int]) -> list[Series]:
        wanted = [Series(0, *one) for one in cadences_s.items()]

        async def keep(connection: Connection) -> list[Series]:
            await self._begin(connection, 0, Retention())
            changed = {one.name for one in wanted} | await self._put_series(connection, wanted)
            return [one for one in await self._every_series(connection) if one.name in changed]

        return await self._server.run(keep)

    async def number(self) -> int:
        return await self._server.look(self._number)

    async def rows(self, series: Series, begin_ms: int, end_ms: int, *, is_fine: bool) -> Kept:
        # The neighbours of the first and the last value say how long those lasted
        margin_ms = int(series.cadence_s * HELD_CADENCES * 1000) if is_fine else 0
        given = self._given(
            name=series.name,
            unit=series.kind.unit,
            is_switch=series.kind.is_switch,
            begin_ms=begin_ms - margin_ms,
            end_ms=end_ms + margin_ms,
        )
        asked = statements.FINE if is_fine else statements.COARSE

        async def look(connection: Connection) -> list[tuple[object, ...]]:
            found = await connection.execute(asked.encode(), given, binary=True)
            return await found.fetchall()

        return _kept(await self._server.look(look), series)

    async def pack(self, job: PackJob) -> None:
        await self._server.run(partial(self._pack, job=job))
        if self._forgotten_day != job.today and not self.holds_back:
            await self._server.run(partial(self._forget, job=job))
            self._forgotten_day = job.today

    async def add(
        self, series: Series, minutes: Columns, quarters: Columns, today: int, kept: Retention
    ) -> None:
        """Keep what another archive knows of minutes and quarters of an hour."""

        async def add(connection: Connection) -> None:
            await self._begin(connection, today, kept)
            await self._put_series(connection, [series])
            for statement, rows in (
                (statements.KEEP_MINUTES, minutes),
                (statements.KEEP_QUARTERS, quarters),
            ):
                if len(rows):
                    await self._put_buckets(connection, statement, series, rows)

        await self._server.run(add)

    async def aclose(self) -> None:
        await self._server.aclose()

    async def _prepare(self, connection: Connection) -> None:
        await prepare(connection)
        if not self._tried_timescale:
            self._tried_timescale = True
            await use_timescale(connection)

    def _given(self, **more: object) -> dict[str, object]:
        return {"agent": self._agent, "mark": self.mark, **more}

    async def _state(self, connection: Connection) -> ArchiveState:
        every = await self._every_series(connection)
        return ArchiveState(every, await self._number(connection), 0, self.mark)

    async def _every_series(self, connection: Connection) -> list[Series]:
        found = await connection.execute(statements.SERIES.encode(), self._given())
        return [_series(row) for row in await found.fetchall()]

    async def _number(self, connection: Connection) -> int:
        found = await connection.execute(statements.NUMBER.encode(), self._given())
        return _whole((await found.fetchone() or (0,))[0])

    async def _begin(self, connection: Connection, today: int, kept: Retention) -> int:
        """Wait for others who change this agent's rows; return since when values are kept."""
        given = self._given(
            values_s=(today - kept.raw_days) * _DAY_S, minutes_s=(today - kept.minute_days) * _DAY_S
        )
        await connection.execute(statements.KEEP_AGENT.encode(), given)
        found = await connection.execute(statements.LOCK_AGENT.encode(), self._given())
        return _whole((await found.fetchone() or (0,))[0])

    async def _pack(self, connection: Connection, *, job: PackJob) -> None:
        values_from_ms = await self._begin(connection, job.today, job.retention)
        await self._put_series(connection, [one.series for one in job.news])
        for one in job.news:
            late, new = _parted(one, values_from_ms)
            if late.at_ms:
                await self._put_late(connection, late)
            if new.at_ms:
                await self._put_values(connection, new)
        given = self._given(number=job.number)
        await connection.execute(statements.KEEP_NUMBER.encode(), given)

    async def _put_series(self, connection: Connection, every: Sequence[Series]) -> set[str]:
        """Keep what these series are; return the new names of others that had one of theirs."""
        moved = renamed(await self._every_series(connection), [one.kind for one in every])
        for one in moved:
            given = self._given(id=one.id, name=one.name)
            await connection.execute(statements.RENAME_SERIES.encode(), given)
        given = self._given(
            names=[one.name for one in every],
            units=[one.kind.unit for one in every],
            switches=[one.kind.is_switch for one in every],
            boards=[one.kind.is_board for one in every],
            cadences=[one.cadence_s for one in every],
        )
        await connection.execute(statements.KEEP_SERIES.encode(), given)
        return {one.name for one in moved}

    async def _put_values(self, connection: Connection, news: News) -> None:
        given = self._given(name=news.series.name, ms=news.at_ms, values=news.values)
        await connection.execute(statements.KEEP_VALUES.encode(), given)
        touched = self._touched(news)
        for statement in statements.ROLL_UP:
            await connection.execute(statement.encode(), touched)

    async def _put_late(self, connection: Connection, news: News) -> None:
        """Keep values of days that are kept by the minute only."""
        series = news.series
        rows = of_values(news.at_ms, news.values, series.cadence_s, is_switch=series.kind.is_switch)
        minutes = in_buckets(rows, MINUTE_MS)
        await self._put_buckets(connection, statements.KEEP_MINUTES, series, minutes)
        await connection.execute(statements.QUARTERS_OF_MINUTES.encode(), self._touched(news))

    def _touched(self, news: News) -> _Given:
        return self._given(
            name=news.series.name, first_s=news.at_ms[0] / 1000, last_s=news.at_ms[-1] / 1000
        )

    async def _put_buckets(
        self, connection: Connection, statement: str, series: Series, rows: Columns
    ) -> None:
        columns = {name: getattr(rows, name) for name in Columns.__struct_fields__}
        given = self._given(name=series.name, **columns)
        await connection.execute(statement.encode(), given)

    async def _forget(self, connection: Connection, *, job: PackJob) -> None:
        kept, today = job.retention, job.today
        values_s = (today - kept.raw_days) * _DAY_S
        minutes_s = (today - kept.minute_days) * _DAY_S
        await connection.execute(statements.LOCK_AGENT.encode(), self._given())
        for statement, from_s in (
            (statements.FORGET_VALUES, values_s),
            (statements.FORGET_MINUTES, minutes_s),
            (statements.FORGET_QUARTERS, (today - kept.quarter_days) * _DAY_S),
        ):
            await connection.execute(statement.encode(), self._given(from_s=from_s))
        given = self._given(values_s=values_s, minutes_s=minutes_s)
        await connection.execute(statements.NOTE_FORGOTTEN.encode(), given)


def _series(row: tuple[object, ...]) -> Series:
    number, name, unit, is_switch, is_board, cadence_s = row
    kind = SeriesKind(str(name), str(unit), bool(is_switch), bool(is_board))
    return Series(_whole(number), kind, _whole(cadence_s))


def _whole(number: object) -> int:
    return int(str(number))


def _parted(news: News, values_from_ms: int) -> tuple[News, News]:
    """Return what is older, and the rest."""
    at = sum(1 for one in news.at_ms if one < values_from_ms)
    return (
        replace(news, at_ms=news.at_ms[:at], values=news.values[:at]),
        replace(news, at_ms=news.at_ms[at:], values=news.values[at:]),
    )


def _kept(found: Sequence[tuple[object, ...]], series: Series) -> Kept:
    every = sorted(filter(len, (_columns(row, series) for row in found)), key=lambda one: one.at_ms)
    number = _whole(found[0][-1]) if found else 0
    is_apart = all(one.at_ms[-1] < two.at_ms[0] for one, two in itertools.pairwise(every))
    if is_apart:
        return Kept(every, number)
    whole = Columns()
    for one in every:
        whole = merged(whole, one)
    return Kept([whole], number)


def _columns(row: tuple[object, ...], series: Series) -> Columns:
    level, *packed, _ = row
    if level == _VALUES:
        at_ms, _, values, *_ = packed
        times, floats = _unpacked(at_ms, "q"), _unpacked(values, "d")
        return of_values(times, floats, series.cadence_s, is_switch=series.kind.is_switch)  # type: ignore[arg-type]  # times are whole
    codes: Sequence[Literal["q", "d"]] = ("q", "d", "d", "d", "q", "q", "q", "q")
    return Columns(*map(_unpacked, packed, codes))  # type: ignore[arg-type]  # each column has its code


def _unpacked(data: object, code: Literal["q", "d"]) -> list[float]:
    values: array[float] = array(code)
    if isinstance(data, bytes):
        values.frombytes(data)
        values.byteswap()
    return values.tolist()
