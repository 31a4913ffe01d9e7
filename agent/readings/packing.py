"""Packed days of `readings.db`: written once a day, rolled up, and forgotten when they are old.

A chunk holds the rows of one reading of one day; the chunks of a day stand together, so that a pack
touches few pages. Quarters of an hour of a month that is over are put into one chunk, so that a
year is read quickly. Functions take a connection inside a transaction.
"""

import sqlite3
from collections.abc import Iterator, Mapping

from msgspec import Struct

from agent.readings.columns import (
    ON_LEVEL,
    Columns,
    distances_ms,
    in_buckets,
    last_until,
    merged,
    pack_buckets,
    pack_values,
    unpack_buckets,
    unpack_values,
)
from agent.readings.series import Series, SeriesKind, renamed

MIGRATIONS = (
    """
    CREATE TABLE series (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        unit TEXT NOT NULL,
        is_switch INTEGER NOT NULL,
        is_board INTEGER NOT NULL,
        cadence_s INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE chunk (
        series INTEGER NOT NULL REFERENCES series (id),
        level INTEGER NOT NULL,
        day INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (level, day, series)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE state (number INTEGER NOT NULL, day INTEGER NOT NULL) STRICT;
    INSERT INTO state VALUES (0, 0)
    """,
    """
    ALTER TABLE state ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
    UPDATE state SET mark = random() & 4294967295
    """,
)
# Levels: every value; one row a minute; one row for each quarter of an hour
VALUES, MINUTES, QUARTERS = 0, 1, 2
DAY_MS, MINUTE_MS, QUARTER_MS = 86_400_000, 60_000, 900_000
# Quarters of so many days are put together
MERGED_DAYS = 32
# More values than this in a day are rolled up by the minute, too
MOST_FOR_MINUTES = 1600


class Retention(Struct, frozen=True):
    """Days for which each level is kept."""

    raw_days: int = 7
    minute_days: int = 60
    quarter_days: int = 1100


class News(Struct, frozen=True):
    """New values of one reading."""

    series: Series
    at_ms: list[int]
    values: list[float]


class PackJob(Struct, frozen=True):
    """One transaction: new values into chunks, old chunks away, and the number of the last batch.

    Args:
        number: of the last batch that is in it.
        today: days since the epoch.
    """

    news: list[News]
    number: int
    today: int
    retention: Retention

    def run(self, db: sqlite3.Connection) -> None:
        for one in self.news:
            _add_news(db, one)
            _merge_quarters(db, one.series.id, self.today)
        for level, days in (
            (VALUES, self.retention.raw_days),
            (MINUTES, self.retention.minute_days),
            (QUARTERS, self.retention.quarter_days),
        ):
            aged = "DELETE FROM chunk WHERE level = ? AND day < ?"
            # A chunk of a month goes when its last day is too old
            more = MERGED_DAYS if level == QUARTERS else 0
            db.execute(aged, (level, self.today - days - more))
        db.execute("UPDATE state SET number = ?, day = ?", (self.number, self.today))


class ArchiveState(Struct, frozen=True):
    """State of an archive.

    Args:
        number: of the last packed batch.
        day: when it was packed, in days since the epoch.
        mark: of this database; its batches carry it where others may be, too.
    """

    series: list[Series]
    number: int
    day: int
    mark: int


def read_state(db: sqlite3.Connection) -> ArchiveState:
    rows = db.execute("SELECT id, name, unit, is_switch, is_board, cadence_s FROM series")
    state = db.execute("SELECT number, day, mark FROM state").fetchone()
    return ArchiveState([_series(row) for row in rows], *state)


def version_of(db: sqlite3.Connection) -> int:
    """Return a number that changes when another program has changed the database."""
    (version,) = db.execute("PRAGMA data_version").fetchone()
    return int(version)


def read_number(db: sqlite3.Connection) -> int:
    """Return the number of the last packed batch."""
    (number,) = db.execute("SELECT number FROM state").fetchone()
    return int(number)


def renew_mark(db: sqlite3.Connection) -> int:
    """Return the database's new mark: batches are counted anew, and others are not its own."""
    db.execute("UPDATE state SET mark = random() & 4294967295")
    (mark,) = db.execute("SELECT mark FROM state").fetchone()
    return int(mark)


def keep_every_series(db: sqlite3.Connection, cadences_s: Mapping[SeriesKind, int]) -> list[Series]:
    """Return the series of these kinds after they are written, and those renamed for them."""
    moved = renamed(read_state(db).series, cadences_s)
    for one in moved:
        db.execute("UPDATE series SET name = ? WHERE id = ?", (one.name, one.id))
    kept = [*moved, *(keep_series(db, *one) for one in cadences_s.items())]
    return list({one.id: one for one in kept}.values())


def keep_series(db: sqlite3.Connection, kind: SeriesKind, cadence_s: int) -> Series:
    """Return the series of that name after it is written."""
    row = db.execute(
        "INSERT INTO series (name, unit, is_switch, is_board, cadence_s) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET unit = excluded.unit, is_switch = excluded.is_switch,"
        " is_board = excluded.is_board, cadence_s = excluded.cadence_s"
        " RETURNING id, name, unit, is_switch, is_board, cadence_s",
        (kind.name, kind.unit, kind.is_switch, kind.is_board, cadence_s),
    ).fetchone()
    return _series(row)


def kept_rows(
    db: sqlite3.Connection, series: Series, begin_ms: int, end_ms: int, *, is_fine: bool
) -> list[Columns]:
    """Return the rows of the days of a span, in their order, each day as finely as it is kept.

    The day after may be there, too: its first value says how long the last one of the span lasted.
    """
    first, last = begin_ms // DAY_MS, (end_ms - 1) // DAY_MS
    chunks: dict[int, Columns] = {}
    if not is_fine:
        coarse = _chunks(db, series.id, QUARTERS, first - MERGED_DAYS, last)
        return [unpack_buckets(data) for _, data in coarse]
    # A switch that is on at midnight was switched on then, or was on the day before
    before = first - series.kind.is_switch
    for level in (MINUTES, VALUES):
        for day, data in _chunks(db, series.id, level, before, last + 1):
            chunks[day] = unpacked(series, data)
    for day in range(first, last + 1):
        if day in chunks and day - 1 in chunks:
            _note_start(series, chunks[day - 1], chunks[day])
    missing = [day for day in range(first, last + 1) if day not in chunks]
    if missing:
        for _, data in _chunks(db, series.id, QUARTERS, first - MERGED_DAYS, last):
            rows = unpack_buckets(data)
            for day in missing:
                part = rows.between(day * DAY_MS, (day + 1) * DAY_MS)
                if len(part):
                    chunks[day] = part
    return [chunks[day] for day in sorted(chunks)]


def _series(row: tuple[int, str, str, int, int, int]) -> Series:
    number, name, unit, is_switch, is_board, cadence_s = row
    return Series(number, SeriesKind(name, unit, bool(is_switch), bool(is_board)), cadence_s)


def _by_day(news: News) -> Iterator[tuple[int, list[int], list[float]]]:
    days: dict[int, tuple[list[int], list[float]]] = {}
    for at_ms, value in zip(news.at_ms, news.values, strict=True):
        times, values = days.setdefault(at_ms // DAY_MS, ([], []))
        times.append(at_ms)
        values.append(value)
    for day, (times, values) in days.items():
        yield day, times, values


# The first byte of a chunk of values or minutes says how it is packed
_AS_VALUES, _AS_BUCKETS = b"v", b"b"


def has_exact_times(data: bytes) -> bool:
    """Return true for a chunk of values as they were recorded."""
    return data[:1] == _AS_VALUES


def unpacked(series: Series, data: bytes) -> Columns:
    """Return the rows of a chunk of values or minutes."""
    if data[:1] == _AS_BUCKETS:
        return unpack_buckets(data[1:])
    return unpack_values(data[1:], series.cadence_s, is_switch=series.kind.is_switch)


def _add_news(db: sqlite3.Connection, news: News) -> None:
    """Write the chunks of all days that have news."""
    days = list(_by_day(news))
    if days:
        before, today = (_day_chunks(db, news.series.id, days[0][0] - back) for back in (1, 0))
        # The last value of a day that was packed already is known to last until the first new one
        if any(map(has_exact_times, before)) and not today:
            days.insert(0, (days[0][0] - 1, [], []))
    for at, (day, at_ms, values) in enumerate(days):
        later = days[at + 1][1] if at + 1 < len(days) else []
        _add_day(db, news.series, day, (at_ms, values), later[0] if later else None)


def _day_chunks(db: sqlite3.Connection, series_id: int, day: int) -> list[bytes]:
    """Return minutes and values of a day; none where it is kept by the quarter only."""
    return [
        data for level in (MINUTES, VALUES) for _, data in _chunks(db, series_id, level, day, day)
    ]


def _last_to_next(
    db: sqlite3.Connection, series: Series, day: int, rows: Columns, next_ms: int | None
) -> None:
    """Let the last value of a day last until the next one, which may be kept already."""
    if next_ms is None:
        later = [unpacked(series, data) for data in _day_chunks(db, series.id, day + 1)]
        next_ms = min((one.at_ms[0] for one in later if len(one)), default=None)
    if next_ms is not None:
        last_until(rows, next_ms, series.cadence_s, is_switch=series.kind.is_switch)


def _add_day(
    db: sqlite3.Connection,
    series: Series,
    day: int,
    new: tuple[list[int], list[float]],
    next_ms: int | None,
) -> None:
    """Write the chunks of a day anew, with what they have already.

    Args:
        next_ms: time of the first new value of a later day; None where there is none.
    """
    at_ms, values = new
    rows = dict(zip(at_ms, values, strict=True))
    kept: Columns | None = None
    for data in _day_chunks(db, series.id, day):
        kept = unpacked(series, data)
        if data[:1] == _AS_VALUES:
            rows = dict(zip(kept.at_ms, kept.means, strict=True)) | rows
            kept = None
    ordered = sorted(set(rows) - set(kept.at_ms if kept else ()))
    packed = _AS_VALUES + pack_values(ordered, [rows[at] for at in ordered])
    whole = unpacked(series, packed)
    if series.kind.is_switch:
        for data in _day_chunks(db, series.id, day - 1):
            _note_start(series, unpacked(series, data), whole)
    if kept is not None:
        # The single values of that day are gone, or somebody brought them
        whole = merged(kept, whole)
    _last_to_next(db, series, day, whole, next_ms)
    if kept is not None:
        for level, data in day_chunks(whole):
            keep_chunk(db, series.id, level, day, data)
    elif len(ordered) > MOST_FOR_MINUTES:
        keep_chunk(db, series.id, VALUES, day, packed)
        minutes = pack_rows(in_buckets(whole, MINUTE_MS))
        keep_chunk(db, series.id, MINUTES, day, minutes)
    else:
        keep_chunk(db, series.id, MINUTES, day, packed)
    _keep_quarters(db, series.id, day, in_buckets(whole, QUARTER_MS))


def _note_start(series: Series, before: Columns, rows: Columns) -> None:
    """Note that a switch became on with the first value of a day, by the last one before it."""
    if not (series.kind.is_switch and len(before) and len(rows)):
        return
    is_new = before.highs[-1] < ON_LEVEL <= rows.means[0] and rows.counts[0] == 1
    if is_new and rows.at_ms[0] - before.at_ms[-1] <= distances_ms(before, series.cadence_s)[-1]:
        rows.starts[0] = 1


def pack_rows(rows: Columns) -> bytes:
    """Return rows as a chunk that says of each how long it lasted."""
    return _AS_BUCKETS + pack_buckets(rows)


def day_chunks(rows: Columns) -> list[tuple[int, bytes]]:
    """Return the chunks, with their levels, of the rows of a day that are not all of one pace."""
    if len(rows) <= MOST_FOR_MINUTES:
        return [(MINUTES, pack_rows(rows))]
    return [(VALUES, pack_rows(rows)), (MINUTES, pack_rows(in_buckets(rows, MINUTE_MS)))]


def _keep_quarters(db: sqlite3.Connection, series_id: int, day: int, rows: Columns) -> None:
    block = day // MERGED_DAYS * MERGED_DAYS
    for begin, data in _chunks(db, series_id, QUARTERS, block, block):
        month = unpack_buckets(data)
        if month.at_ms and month.at_ms[-1] >= (block + 1) * DAY_MS:
            # A late value of a month that is put together already
            whole = month.between(0, day * DAY_MS)
            whole.extend(rows)
            whole.extend(month.between((day + 1) * DAY_MS, month.at_ms[-1] + 1))
            keep_chunk(db, series_id, QUARTERS, begin, pack_buckets(whole))
            return
    keep_chunk(db, series_id, QUARTERS, day, pack_buckets(rows))


def _merge_quarters(db: sqlite3.Connection, series_id: int, today: int) -> None:
    """Put the quarters of the last month that is over into one chunk."""
    block = (today // MERGED_DAYS - 1) * MERGED_DAYS
    chunks = _chunks(db, series_id, QUARTERS, block, block + MERGED_DAYS - 1)
    if len(chunks) <= 1:
        return
    month = Columns()
    for _, data in chunks:
        month.extend(unpack_buckets(data))
    db.execute(
        "DELETE FROM chunk WHERE series = ? AND level = ? AND day BETWEEN ? AND ?",
        (series_id, QUARTERS, block, block + MERGED_DAYS - 1),
    )
    keep_chunk(db, series_id, QUARTERS, block, pack_buckets(month))


def _chunks(
    db: sqlite3.Connection, series_id: int, level: int, first: int, last: int
) -> list[tuple[int, bytes]]:
    return db.execute(
        "SELECT day, data FROM chunk WHERE series = ? AND level = ? AND day BETWEEN ? AND ?"
        " ORDER BY day",
        (series_id, level, first, last),
    ).fetchall()


def keep_chunk(db: sqlite3.Connection, series_id: int, level: int, day: int, data: bytes) -> None:
    db.execute(
        "INSERT INTO chunk (series, level, day, data) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET data = excluded.data",
        (series_id, level, day, data),
    )
