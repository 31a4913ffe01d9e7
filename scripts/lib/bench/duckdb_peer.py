"""DuckDB with a year of readings, asked as the record is; runs in an environment that has it.

Prints JSON: by days of a span the median of the CPU in milliseconds, the bytes of the file and the
version. It gets its rows in the order that it likes best: sensor by sensor, each in time.
"""

import json
import sys
import time
from pathlib import Path

import duckdb  # type: ignore[import-not-found,unused-ignore]  # in an environment of its own

_FILL = """
    CREATE TABLE r AS SELECT s::SMALLINT AS s, ? + m * 60000 AS at_ms,
    round(15 + s / 4.0 + 5 * sin(m / 1440.0 * 2 * pi() + s) + 8 * sin(m / 1440.0 / 365 * 2 * pi())
    + (random() - 0.5) * 0.4, 1) AS v
    FROM range(?) sensors (s), range(? * 1440) minutes (m) ORDER BY s, at_ms
"""
_ASK = "SELECT min(v), avg(v), max(v), count(*) FROM r WHERE s = ? AND at_ms >= ? AND at_ms < ?"
_DAY_MS = 86_400_000


def main(path: str, begin_ms: int, days: int, sensors: int, asked: int) -> None:
    """Fill a table and ask it."""
    with duckdb.connect(path) as db:
        db.execute("SET memory_limit = '1GB'")
        db.execute(_FILL, [begin_ms, sensors, days])
        db.execute("CHECKPOINT")
        end_ms = begin_ms + days * _DAY_MS
        spans = [length for length in (1, 30, 365) if length <= days]
        took = {length: _median_ms(db, end_ms, length, sensors, asked) for length in spans}
    size = Path(path).stat().st_size
    print(json.dumps({"ms": took, "bytes": size, "version": duckdb.__version__}))


def _median_ms(
    db: "duckdb.DuckDBPyConnection", end_ms: int, length: int, sensors: int, asked: int
) -> float:
    took = []
    for one in range(asked):
        begun = time.process_time()
        db.execute(_ASK, [one % sensors, end_ms - length * _DAY_MS, end_ms]).fetchone()
        took.append((time.process_time() - begun) * 1000)
    return sorted(took)[len(took) // 2]


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
