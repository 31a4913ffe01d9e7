"""Spool of what is to be imported: a temporary database that is gone when it is closed.

A file may be longer than the memory is large, and in any order. SQLite keeps what does not fit
into its cache in a file without a name.
"""

import sqlite3
from collections.abc import Callable, Iterator

from msgspec import Struct

from agent.readings.columns import Columns, of_values
from agent.readings.csv_rows import CsvRow

_SCHEMA = """
    CREATE TABLE value (
        reading INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        low REAL, mean REAL, high REAL,
        count INTEGER, on_ms INTEGER, known_ms INTEGER, starts INTEGER,
        clashes INTEGER NOT NULL DEFAULT 0,
        is_repeated INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (reading, at_ms)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE repetition (reading INTEGER NOT NULL, at_ms INTEGER NOT NULL, value REAL NOT NULL)
        STRICT;
    CREATE TABLE planned (
        reading INTEGER NOT NULL,
        block INTEGER NOT NULL,
        level INTEGER NOT NULL,
        day INTEGER NOT NULL,
        data BLOB NOT NULL
    ) STRICT;
    CREATE INDEX planned_block ON planned (reading, block);
"""
# A value of the same time that differs is counted; the first one counts
_ADD = """
    INSERT INTO value (reading, at_ms, low, mean, high, count, on_ms, known_ms, starts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET clashes = clashes + (mean IS NOT excluded.mean)
"""
_REPEAT = """
    INSERT OR IGNORE INTO value (reading, at_ms, low, mean, high, count, is_repeated)
    SELECT reading, at_ms, value, value, value, 1, 1 FROM repetition
"""
_DAY_MS, _SECOND_MS = 86_400_000, 1000
_CACHE_KIB = 8192
# Rows that are handed to SQLite together
_AT_ONCE = 1000
# Of how many distances the middle one is taken
_MOST_DISTANCES = 20_000

Chunk = tuple[int, int, bytes]


class SpooledReading(Struct, frozen=True):
    """Values of one reading in the file."""

    name: str
    values: int
    first_ms: int
    last_ms: int
    clashes: int
    lowest: float
    highest: float
    resolution_ms: int


class SpooledDay(Struct, frozen=True):
    """Values of one day; those that only repeat the one before are not counted."""

    rows: Columns
    is_said: list[bool]


class CsvSpool:
    """The values of one import; used from one thread at a time."""

    def __init__(self) -> None:
        # No name: SQLite removes it with the connection
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.executescript(_SCHEMA)
        self._db.execute("BEGIN")
        self._ids: dict[str, int] = {}
        self._waiting: list[tuple[object, ...]] = []

    def close(self) -> None:
        self._db.close()

    def add(self, row: CsvRow) -> None:
        number = self._ids.setdefault(row.reading, len(self._ids))
        known = (row.count, row.on_ms, row.known_ms, row.starts)
        self._waiting.append((number, row.at_ms, row.low, row.mean, row.high, *known))
        if len(self._waiting) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        self._db.executemany(_ADD, self._waiting)
        self._waiting.clear()

    def readings(self) -> list[SpooledReading]:
        """Return what there is, without what was only repeated."""
        self.flush()
        found = []
        for name, number in self._ids.items():
            row = self._db.execute(
                "SELECT count(*), min(at_ms), max(at_ms), sum(clashes > 0), min(low), max(high),"
                " iif(max(at_ms % ?1), 1, ?1) FROM value"
                " WHERE reading = ?2 AND NOT is_repeated AND mean IS NOT NULL",
                (_SECOND_MS, number),
            ).fetchone()
            if row[0]:
                found.append(SpooledReading(name, *row))
        return found

    def some(self, reading: str, most: int) -> list[tuple[int, float]]:
        """Return the first values."""
        return self._db.execute(
            "SELECT at_ms, mean FROM value WHERE reading = ? AND mean IS NOT NULL"
            " ORDER BY at_ms LIMIT ?",
            (self._ids[reading], most),
        ).fetchall()

    def clash(self, reading: str) -> int:
        """Return a time that has two values."""
        (at_ms,) = self._db.execute(
            "SELECT min(at_ms) FROM value WHERE reading = ? AND clashes", (self._ids[reading],)
        ).fetchone()
        return int(at_ms)

    def distance_s(self, reading: str) -> int | None:
        """Return the usual distance of two values, at least a second; None of a single value."""
        (found,) = self._db.execute(
            "WITH near AS (SELECT at_ms FROM value WHERE reading = ? AND mean IS NOT NULL"
            " ORDER BY at_ms DESC LIMIT ?),"
            " away AS (SELECT at_ms - lag(at_ms) OVER (ORDER BY at_ms) AS ms FROM near)"
            " SELECT avg(ms) FROM (SELECT ms, row_number() OVER (ORDER BY ms) AS n,"
            " count(*) OVER () AS many FROM away WHERE ms IS NOT NULL)"
            " WHERE n IN ((many + 1) / 2, (many + 2) / 2)",
            (self._ids[reading], _MOST_DISTANCES),
        ).fetchone()
        return None if found is None else max(1, round(found / _SECOND_MS))

    def repeat(self, reading: str, pace_ms: Callable[[int], int]) -> None:
        """Let each value last until the next one, or until nothing is known.

        Args:
            pace_ms: the distance of two repetitions at a time.
        """
        number = self._ids[reading]
        rows = self._db.execute(
            "SELECT at_ms, mean, lead(at_ms) OVER (ORDER BY at_ms) FROM value WHERE reading = ?"
            " ORDER BY at_ms",
            (number,),
        )
        self._db.executemany(
            "INSERT INTO repetition VALUES (?, ?, ?)",
            (
                (number, again, value)
                for at_ms, value, next_ms in rows
                if value is not None and next_ms is not None
                for again in _between(at_ms, next_ms, pace_ms(at_ms))
            ),
        )
        self._db.execute(_REPEAT)
        self._db.execute("DELETE FROM repetition")

    def days(self, reading: str, first: int, last: int) -> list[int]:
        """Return the days with values, from the first to the last, since 1970."""
        rows = self._db.execute(
            "SELECT DISTINCT at_ms / ? FROM value WHERE reading = ? AND mean IS NOT NULL"
            " AND at_ms >= ? AND at_ms < ? ORDER BY 1",
            (_DAY_MS, self._ids[reading], first * _DAY_MS, (last + 1) * _DAY_MS),
        )
        return [day for (day,) in rows]

    def day(self, reading: str, day: int, held_s: int, *, is_switch: bool) -> SpooledDay:
        """Return the values of a day; each lasts until the next one or until a gap begins.

        Args:
            held_s: the usual time between two values.
        """
        begin_ms, end_ms = day * _DAY_MS, (day + 1) * _DAY_MS
        number = self._ids[reading]
        rows = self._db.execute(
            "SELECT at_ms, low, coalesce(mean, 0.0), high, count, on_ms, known_ms, starts,"
            " NOT is_repeated, mean IS NOT NULL FROM value WHERE reading = ?1"
            " AND at_ms >= coalesce("
            "  (SELECT max(at_ms) FROM value WHERE reading = ?1 AND at_ms < ?2), ?2)"
            " AND at_ms <= coalesce("
            "  (SELECT min(at_ms) FROM value WHERE reading = ?1 AND at_ms >= ?3), ?3)"
            " ORDER BY at_ms",
            (number, begin_ms, end_ms),
        ).fetchall()
        at_ms, lows, means, highs, counts, *known, is_said, is_value = map(
            list, zip(*rows, strict=True)
        )
        made = of_values(at_ms, means, held_s, is_switch=is_switch)
        guessed = (made.on_ms, made.known_ms, made.starts)
        lasted = (_either(own, guess) for own, guess in zip(known, guessed, strict=True))
        within = [
            number
            for number, at in enumerate(at_ms)
            if is_value[number] and begin_ms <= at < end_ms
        ]
        found = Columns(at_ms, lows, means, highs, counts, *lasted).picked(within)
        return SpooledDay(found, [bool(is_said[number]) for number in within])

    def plan(self, reading: str, block: int, chunks: list[Chunk]) -> None:
        """Keep what a block of days will be."""
        number = self._ids[reading]
        self._db.executemany(
            "INSERT INTO planned VALUES (?, ?, ?, ?, ?)",
            ((number, block, *chunk) for chunk in chunks),
        )

    def planned(self, reading: str, block: int) -> Iterator[Chunk]:
        yield from self._db.execute(
            "SELECT level, day, data FROM planned WHERE reading = ? AND block = ?",
            (self._ids[reading], block),
        )


def _between(at_ms: int, next_ms: int, pace_ms: int) -> range:
    return range(at_ms + pace_ms, next_ms, pace_ms)


def _either(own: list[int | None], guess: list[int]) -> list[int]:
    """Return what the file says of each row, else what follows from the next one."""
    return [other if one is None else one for one, other in zip(own, guess, strict=True)]
