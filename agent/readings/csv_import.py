"""Import of readings: what is spooled becomes chunks beside those that are kept already.

Everything is packed before the store is changed. Then one short transaction puts it in: a running
agent goes on meanwhile, and a cut leaves all of it or nothing. What the agent has filed between is
seen by its blocks, which are planned anew inside of the transaction.
"""

import hashlib
import sqlite3

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.readings import packing
from agent.readings.columns import Columns, in_buckets, merged, pack_buckets, unpack_buckets
from agent.readings.csv_rows import SeenReading
from agent.readings.csv_spool import Chunk, CsvSpool, SpooledDay, SpooledReading
from agent.readings.packing import DAY_MS, MERGED_DAYS, MINUTE_MS, MINUTES, QUARTER_MS, QUARTERS
from agent.readings.series import Series, SeriesKind

_DIGEST_BYTES = 16
# Of a reading that is recorded as the settings have it
USUAL_CADENCE_S = 60
_OF_BLOCK = "FROM chunk WHERE series = ? AND day BETWEEN ? AND ?"


class ImportRules(Struct, frozen=True):
    """Rules of one import.

    Args:
        today: days since 1970.
        replaces: what the file says counts more than what is kept.
    """

    retention: packing.Retention
    today: int
    replaces: bool = False


class ImportedReading(Struct, frozen=True):
    """A reading of the file as it goes into the store.

    Args:
        cadence_s: of the series, where it is new.
        held_s: the usual time between two values of the file.
        series: as the store has it; None where it is new.
        unfiled: its newest values, which are in no chunk yet and stay as they are.
    """

    kind: SeriesKind
    cadence_s: int
    held_s: int
    resolution_ms: int
    series: Series | None
    unfiled: Columns

    @property
    def known(self) -> Series:
        """Return its series; one that is new has nothing in the store."""
        return self.series or Series(0, self.kind, self.cadence_s)


class FileSays(Struct, frozen=True):
    """One reading, as a file tells it.

    Args:
        every_s: time between two values, given or usual; None of a single value.
        repeats: each value lasts until the next one, and was repeated in the spool.
    """

    spooled: SpooledReading
    seen: SeenReading
    every_s: int | None
    repeats: bool


def imported(says: FileSays, series: Series | None, unfiled: Columns | None) -> ImportedReading:
    """Return the reading as it goes into the store.

    Raises:
        BadArguments: what is kept by that name is something else.
    """
    name, unit = says.spooled.name, says.seen.unit
    is_bit = {says.spooled.lowest, says.spooled.highest} <= {0.0, 1.0}
    if series is None:
        if says.seen.is_switch and not is_bit:
            raise BadArguments(f"{name} is on or off in some rows, and a number in others")
    elif unit and series.kind.unit and unit != series.kind.unit:
        raise BadArguments(
            f"{name} is kept in {series.kind.unit}, and the file has {unit}: convert it, or import"
            " it by another name (--reading)"
        )
    elif series.kind.is_switch and not is_bit:
        raise BadArguments(f"{name} is a switch, and the file has numbers: name another --reading")
    elif says.seen.is_switch and not series.kind.is_switch:
        raise BadArguments(f"{name} has numbers, and in the file it is on or off: name another")
    kind = SeriesKind(name, unit, says.seen.is_switch, is_board=False)
    every_s = says.every_s or USUAL_CADENCE_S
    held_s = QUARTER_MS // 1000 if says.repeats else every_s
    cadence_s = USUAL_CADENCE_S if says.repeats else every_s
    resolution_ms = says.spooled.resolution_ms
    return ImportedReading(kind, cadence_s, held_s, resolution_ms, series, unfiled or Columns())


class Counted(Struct, frozen=True):
    """Values of the file: to be stored, there already, and older than anything that is kept."""

    stored: int = 0
    there: int = 0
    too_old: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(
            self.stored + other.stored, self.there + other.there, self.too_old + other.too_old
        )


class _Block(Struct, frozen=True):
    reading: ImportedReading
    first: int
    digest: bytes


class ReadingImport:
    """One import; its calls block, and take a connection inside of a transaction."""

    def __init__(self, spool: CsvSpool, rules: ImportRules) -> None:
        self._spool = spool
        self._rules = rules
        self._blocks: list[_Block] = []

    def plan(self, db: sqlite3.Connection, reading: ImportedReading) -> Counted:
        """Pack what the reading will be, change nothing, and return what comes of its values."""
        counted = Counted()
        days = self._spool.days(reading.kind.name, 0, self._rules.today)
        for first in sorted({day // MERGED_DAYS * MERGED_DAYS for day in days}):
            kept = _kept(db, reading, first)
            chunks, found = self._planned(reading, first, kept)
            counted += found
            if found.stored:
                self._spool.plan(reading.kind.name, first, chunks)
                self._blocks.append(_Block(reading, first, _digest(kept)))
        return counted

    def run(self, db: sqlite3.Connection) -> None:
        """Put everything that was planned into the store."""
        series = {one.name: one for one in packing.read_state(db).series}
        for block in self._blocks:
            reading = block.reading
            name = reading.kind.name
            if name not in series:
                series[name] = packing.keep_series(db, reading.kind, reading.cadence_s)
            now = replace(reading, series=series[name])
            kept = _kept(db, now, block.first)
            chunks = list(self._spool.planned(name, block.first))
            if _digest(kept) != block.digest:
                # The agent has filed something meanwhile
                chunks, _ = self._planned(now, block.first, kept)
            _put(db, series[name].id, block.first, chunks)

    def _planned(
        self, reading: ImportedReading, first: int, kept: list[Chunk]
    ) -> tuple[list[Chunk], Counted]:
        """Return all chunks of the block, with what is kept already."""
        block = _BlockDays(reading, first, kept, self._rules)
        name, last = reading.kind.name, first + MERGED_DAYS - 1
        counted = Counted()
        for day in self._spool.days(name, first, last):
            news = self._spool.day(
                name, day, reading.held_s, is_switch=reading.known.kind.is_switch
            )
            counted += block.add(day, news)
        return block.chunks(), counted


class _BlockDays:
    """Days of a block, each with what is kept of it as finely as it is kept."""

    def __init__(
        self, reading: ImportedReading, first: int, kept: list[Chunk], rules: ImportRules
    ) -> None:
        self._reading = reading
        self._first = first
        self._rules = rules
        self._fine: dict[tuple[int, int], bytes] = {}
        self._quarters = Columns()
        for level, day, data in kept:
            if level == QUARTERS:
                self._quarters.extend(unpack_buckets(data))
            else:
                self._fine[level, day] = data
        self._unfiled = {at // reading.resolution_ms for at in reading.unfiled.at_ms}

    def add(self, day: int, news: SpooledDay) -> Counted:
        """Take the values of a day; return what comes of them."""
        age = self._rules.today - day
        said = sum(news.is_said)
        if age > self._rules.retention.quarter_days:
            return Counted(too_old=said)
        kept, unit_ms = self._kept_of(day)
        rows, stored = self._joined(kept, news, unit_ms)
        if rows is None:
            return Counted(there=said)
        if age <= self._rules.retention.minute_days and unit_ms != QUARTER_MS:
            self._fine.pop((packing.VALUES, day), None)
            self._fine.update({(level, day): data for level, data in packing.day_chunks(rows)})
        whole = self._quarters.between(0, day * DAY_MS)
        whole.extend(in_buckets(rows, QUARTER_MS))
        whole.extend(self._quarters.between((day + 1) * DAY_MS, (day + MERGED_DAYS) * DAY_MS))
        self._quarters = whole
        return Counted(stored, said - stored)

    def chunks(self) -> list[Chunk]:
        """Return what the block consists of now; quarters of one that is over stand together."""
        made = [(level, day, data) for (level, day), data in self._fine.items()]
        first, end = self._first, self._first + MERGED_DAYS
        step = MERGED_DAYS if end <= self._rules.today else 1
        for day in range(first, end, step):
            rows = self._quarters.between(day * DAY_MS, (day + step) * DAY_MS)
            if len(rows):
                made.append((QUARTERS, day, pack_buckets(rows)))
        return made

    def _kept_of(self, day: int) -> tuple[Columns, int]:
        """Return the rows of a day, and within which time one of them stands for all."""
        for level in (packing.VALUES, MINUTES):
            if (level, day) in self._fine:
                data = self._fine[level, day]
                rows = packing.unpacked(self._reading.known, data)
                is_rolled = not packing.has_exact_times(data) and not any(
                    at % MINUTE_MS for at in rows.at_ms
                )
                return rows, MINUTE_MS if is_rolled else self._reading.resolution_ms
        rows = self._quarters.between(day * DAY_MS, (day + 1) * DAY_MS)
        return rows, QUARTER_MS if len(rows) else self._reading.resolution_ms

    def _joined(self, kept: Columns, news: SpooledDay, unit_ms: int) -> tuple[Columns | None, int]:
        """Return the rows of both, and how many of the file are among them; None for no change."""
        resolution_ms = self._reading.resolution_ms
        taken = {at // unit_ms for at in kept.at_ms} if not self._rules.replaces else set()
        chosen = [
            number
            for number, at in enumerate(news.rows.at_ms)
            if at // unit_ms not in taken and at // resolution_ms not in self._unfiled
        ]
        stored = sum(news.is_said[number] for number in chosen)
        if not stored:
            return None, 0
        rows = news.rows.picked(chosen)
        new = {at // unit_ms for at in rows.at_ms}
        stays = [number for number, at in enumerate(kept.at_ms) if at // unit_ms not in new]
        if unit_ms == QUARTER_MS:
            rows = in_buckets(rows, QUARTER_MS)
        return merged(kept.picked(stays), rows), stored


def _kept(db: sqlite3.Connection, reading: ImportedReading, first: int) -> list[Chunk]:
    if reading.series is None:
        return []
    span = (reading.series.id, first, first + MERGED_DAYS - 1)
    order = "ORDER BY level, day"
    return db.execute(f"SELECT level, day, data {_OF_BLOCK} {order}", span).fetchall()


def _digest(chunks: list[Chunk]) -> bytes:
    made = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for level, day, data in chunks:
        made.update(f"{level} {day} {len(data)} ".encode() + data)
    return made.digest()


def _put(db: sqlite3.Connection, series_id: int, first: int, chunks: list[Chunk]) -> None:
    db.execute(f"DELETE {_OF_BLOCK}", (series_id, first, first + MERGED_DAYS - 1))
    for level, day, data in chunks:
        packing.keep_chunk(db, series_id, level, day, data)
