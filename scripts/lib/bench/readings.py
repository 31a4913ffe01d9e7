"""Measures the record of readings: bytes, questions, drawings, kills, cuts, notices, rehearsals.

20 sensors with a value a minute and weather-like noise; a year of them is in the store where
questions are timed. Plain rows in SQLite, and DuckDB, are asked the same in the same run.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.store import DAY_MS, ReadingStore
from agent.readings.summary import summarize
from scripts.lib.bench.conflicted import SETS, conflict_rows
from scripts.lib.bench.reading_anomalies import SENSORS as NOTICED
from scripts.lib.bench.reading_anomalies import noticed_rows
from scripts.lib.bench.reading_brain import server_for, store_at
from scripts.lib.bench.reading_cuts import CUTS, cut_row
from scripts.lib.bench.reading_drawings import drawn_rows
from scripts.lib.bench.reading_duckdb import answers
from scripts.lib.bench.reading_history import (
    ASKED,
    BEGIN_MS,
    MINUTES,
    PLAIN_DAYS,
    SENSORS,
    plain_ms,
    plain_rows,
    recorded,
)
from scripts.lib.bench.reading_kills import killed_row
from scripts.lib.bench.reading_written import written_rows
from scripts.lib.bench.rehearsed import CASES, rehearsal_rows
from scripts.lib.bench.table import NO_BAR, Row, show
from tests.fakes.postgres import PostgresServer

# Bars
SPANS = (("day", 1, 5.0), ("month", 30, 10.0), ("year", 365, 30.0))
KILLS = 200
DAYS = 366
BRAINS = ("sqlite", "postgres")
PARTS = ("written", "asked", "drawn", "killed", "cut", "noticed", "rehearsal", "conflicts")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench-readings", description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS, help=f"in the store, default {DAYS}")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"default {KILLS}")
    parser.add_argument("--cuts", type=int, default=CUTS, help=f"on paper, default {CUTS}")
    parser.add_argument(
        "--noticed", type=int, default=NOTICED, help=f"sensors with anomalies, default {NOTICED}"
    )
    parser.add_argument(
        "--rehearsals", type=int, default=CASES, help=f"random rule sets, default {CASES}"
    )
    parser.add_argument(
        "--conflicts", type=int, default=SETS, help=f"mutated rule sets, default {SETS}"
    )
    parser.add_argument("--duckdb", type=Path, metavar="VENV", help="environment with DuckDB")
    parser.add_argument(
        "--brain", choices=BRAINS, default=BRAINS[0], help="where asked and killed readings are"
    )
    parser.add_argument("--only", choices=PARTS, help="this part of the table")
    parser.add_argument("--folder", type=Path, help="on a disk that nobody else writes to")
    wanted = parser.parse_args(arguments)
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(dir=wanted.folder) as name,
        server_for(wanted.brain) as server,
    ):
        for part in PARTS:
            if wanted.only in {None, part}:
                rows += _part(part, Path(name), wanted, server)
    show(rows)
    return int(any(row.held is False for row in rows))


def _part(
    part: str, folder: Path, wanted: argparse.Namespace, server: PostgresServer | None
) -> Iterable[Row]:
    measure: dict[str, Callable[[], Iterable[Row]]] = {
        "written": lambda: written_rows(folder / "written"),
        "asked": lambda: asyncio.run(_asked(folder / "asked", wanted.days, wanted.duckdb, server)),
        "drawn": lambda: asyncio.run(drawn_rows()),
        "killed": lambda: [killed_row(folder / "killed", wanted.kills, server)],
        "cut": lambda: [cut_row(folder / "cut", wanted.cuts)],
        "noticed": lambda: noticed_rows(wanted.noticed),
        "rehearsal": lambda: rehearsal_rows(wanted.rehearsals, wanted.days),
        "conflicts": lambda: conflict_rows(wanted.conflicts),
    }
    return measure[part]()


async def _asked(
    folder: Path, days: int, duckdb: Path | None, server: PostgresServer | None
) -> list[Row]:
    url = "" if server is None else server.fresh_url()
    store = store_at(folder, "", retention=Retention())
    await store.open()
    every = await recorded(store, days, MINUTES)
    rows: list[Row] = []
    if server is not None:
        await store.aclose()
        store = store_at(folder, url, retention=Retention())
        rows.append(await _moved(store, days))
    plain = plain_rows(folder / "plain.db", PLAIN_DAYS)
    duck = answers(folder, days, duckdb)
    for name, length, bar_ms in SPANS:
        if length > days:
            continue
        took: list[float] = []
        waited: list[float] = []
        for one in range(ASKED):
            end_ms = BEGIN_MS + days * DAY_MS
            # The time of this process: others may have the cores
            begun, began = time.process_time(), time.perf_counter()
            found = summarize(
                await store.rows(every[one % SENSORS], end_ms - length * DAY_MS, end_ms)
            )
            took.append((time.process_time() - begun) * 1000)
            waited.append((time.perf_counter() - began) * 1000)
            assert found is not None
        rowwise = f"plain rows {plain_ms(plain, length):.1f} ms" if length <= PLAIN_DAYS else ""
        on_server = "" if server is None else f"waited {sorted(waited)[len(waited) // 2]:.1f} ms"
        beside = "; ".join(filter(None, (rowwise, duck.beside(length), on_server)))
        p50 = sorted(took)[len(took) // 2]
        rows.append(
            Row(
                f"a {name} of one sensor, p50 of CPU, {days} days in the store",
                f"<= {bar_ms:g} ms",
                f"{p50:.1f} ms",
                beside,
                p50 <= bar_ms,
            )
        )
    await store.aclose()
    return [*rows, duck.row(_bytes_of(folder))]


def _bytes_of(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.glob("readings.*"))


async def _moved(store: ReadingStore, days: int) -> Row:
    """Move a store that was recorded without a server to one."""
    await store.open()
    store.place(BEGIN_MS, is_sure=True)
    begun, began = time.process_time(), time.perf_counter()
    await store.commit(BEGIN_MS + days * DAY_MS)
    await store.settle()
    took_s, waited_s = time.process_time() - begun, time.perf_counter() - began
    told = f"{took_s:.1f} s of CPU here, {waited_s:.0f} s in all"
    return Row(f"{days} days of {SENSORS} sensors moved to the server", NO_BAR, told, "", None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
