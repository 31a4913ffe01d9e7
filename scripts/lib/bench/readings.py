"""Measures the record of readings: bytes to the card, questions, drawings, and kills.

20 sensors with a value a minute and weather-like noise; a year of them is in the store where
questions are timed. Plain rows in SQLite are asked the same in the same run.
"""

import argparse
import asyncio
import json
import math
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from agent.readings.chart import ChartLook, chart_of
from agent.readings.packing import Retention
from agent.readings.periods import Span
from agent.readings.series import Series, SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.readings.summary import summarize
from agent.tools.readings_draw import PROGRAM
from scripts.lib.bench.table import Row, show

SENSORS = 20
BEGIN_MS = 20_000 * DAY_MS
MINUTES = 1440
# Beside a store of a year: more rows make no query of a month slower
PLAIN_DAYS = 40
COMMIT_MINUTES = 10
_MB = 1_000_000
# Bars
MOST_MB_A_MONTH = 1.0
SPANS = (("day", 1, 5.0), ("month", 30, 10.0), ("year", 365, 30.0))
MOST_DRAWING_MS = 300
MOST_DRAWING_BYTES = 60 * 1024
KILLS = 200
_ASKED = 40


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench-readings", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40 days and 20 kills, not a year")
    parser.add_argument("--folder", type=Path, help="on the disk that is measured")
    wanted = parser.parse_args(arguments)
    days, kills = (40, 20) if wanted.quick else (366, KILLS)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=wanted.folder) as name:
        folder = Path(name)
        rows += asyncio.run(_written(folder / "written"))
        rows += asyncio.run(_asked(folder / "asked", days))
        rows += asyncio.run(_drawn())
        rows.append(_killed(folder / "killed", kills))
    show(rows)
    return int(any(row.held is False for row in rows))


def _row(what: str, measured: str, bar: str, held: bool, beside: str) -> Row:  # noqa: FBT001 - as in the table
    return Row(what, bar, measured, beside, held)


def _values(sensor: int, minute: int, noise: random.Random) -> float:
    day = math.sin(minute / MINUTES * math.tau + sensor)
    season = math.sin(minute / MINUTES / 365 * math.tau)
    return round(15 + sensor / 4 + 5 * day + 8 * season + noise.gauss(0, 0.1), 1)


async def _recorded(store: ReadingStore, days: int, commit_minutes: int) -> list[Series]:
    noise = random.Random(1)  # noqa: S311 - a series that is the same again
    every = [
        await store.series(SeriesKind(f"sensor{one}.temperature", "°C"), 60)
        for one in range(SENSORS)
    ]
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(days * MINUTES):
        for number, series in enumerate(every):
            store.add(series, minute * 60.0, _values(number, minute, noise))
        if minute % commit_minutes == commit_minutes - 1:
            await store.commit(BEGIN_MS + minute * 60_000)
    return every


async def _written(folder: Path) -> list[Row]:
    """Count the bytes that this process hands to the block layer in ten days."""
    days = 10
    store = ReadingStore(folder, Retention(), "boot")
    await store.open()
    await _recorded(store, 1, COMMIT_MINUTES)
    await store.aclose()
    store = ReadingStore(folder / "again", Retention(), "boot")
    await store.open()
    before = _write_bytes()
    await _recorded(store, days, COMMIT_MINUTES)
    await store.aclose()
    month_mb = (_write_bytes() - before) / _MB / days * 30 / SENSORS
    held_mb = sum(one.stat().st_size for one in (folder / "again").iterdir()) / _MB
    text = f"{month_mb:.2f} MB"
    return [
        _row(
            f"written a month and sensor, {SENSORS} sensors, a commit every 10 minutes",
            text,
            f"<= {MOST_MB_A_MONTH:g} MB",
            month_mb <= MOST_MB_A_MONTH,
            f"{held_mb:.1f} MB in files after {days} days",
        )
    ]


def _write_bytes() -> int:
    os.sync()
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])


async def _asked(folder: Path, days: int) -> list[Row]:
    store = ReadingStore(folder, Retention(), "boot")
    await store.open()
    every = await _recorded(store, days, MINUTES)
    plain = _plain_rows(folder / "plain.db", PLAIN_DAYS)
    rows: list[Row] = []
    for name, length, bar_ms in SPANS:
        if length > days:
            continue
        took: list[float] = []
        for one in range(_ASKED):
            end_ms = BEGIN_MS + days * DAY_MS
            begun = time.perf_counter()
            found = summarize(
                await store.rows(every[one % SENSORS], end_ms - length * DAY_MS, end_ms)
            )
            took.append((time.perf_counter() - begun) * 1000)
            assert found is not None
        beside = f"plain rows {_plain_ms(plain, length):.1f} ms" if length <= PLAIN_DAYS else ""
        p50 = sorted(took)[len(took) // 2]
        rows.append(
            _row(
                f"a {name} of one sensor, p50, {days} days in the store",
                f"{p50:.1f} ms",
                f"<= {bar_ms:g} ms",
                p50 <= bar_ms,
                beside,
            )
        )
    await store.aclose()
    return rows


def _plain_rows(path: Path, days: int) -> Path:
    noise = random.Random(1)  # noqa: S311 - a series that is the same again
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE r (s INT, at INT, v REAL, PRIMARY KEY (s, at)) WITHOUT ROWID")
        for sensor in range(SENSORS):
            made = (
                (sensor, BEGIN_MS + minute * 60_000, _values(sensor, minute, noise))
                for minute in range(days * MINUTES)
            )
            db.executemany("INSERT INTO r VALUES (?, ?, ?)", made)
        db.commit()
    return path


def _plain_ms(path: Path, days: int) -> float:
    asked = "SELECT min(v), avg(v), max(v), count(*) FROM r WHERE s = ? AND at >= ? AND at < ?"
    with closing(sqlite3.connect(path)) as db:
        took = []
        for one in range(_ASKED):
            begun = time.perf_counter()
            db.execute(asked, (one % SENSORS, BEGIN_MS, BEGIN_MS + days * DAY_MS)).fetchone()
            took.append((time.perf_counter() - begun) * 1000)
    return sorted(took)[len(took) // 2]


async def _drawn() -> list[Row]:
    noise = random.Random(2)  # noqa: S311 - as above
    with tempfile.TemporaryDirectory() as name:
        store = ReadingStore(Path(name), Retention(), "boot")
        await store.open()
        every = await _recorded(store, 1, MINUTES)
        span = Span(BEGIN_MS, BEGIN_MS + DAY_MS)
        chart = chart_of(
            await store.rows(every[0], span.begin_ms, span.end_ms),
            span,
            60,
            ChartLook(f"sensor {noise.randrange(9)}", (18.0,)),
        )
        await store.aclose()
    cpu_ms, size = _drawing(json.dumps(chart).encode())
    return [
        _row(
            "a drawing, CPU, median of 7",
            f"{cpu_ms:.0f} ms",
            f"<= {MOST_DRAWING_MS} ms",
            cpu_ms <= MOST_DRAWING_MS,
            "a process of its own: its memory goes with it",
        ),
        _row(
            "a drawing, bytes", f"{size / 1024:.0f} KB", "<= 60 KB", size <= MOST_DRAWING_BYTES, ""
        ),
    ]


def _drawing(chart: bytes) -> tuple[float, int]:
    took: list[float] = []
    size = 0
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-I", str(PROGRAM)], input=chart, capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took.append(used_s * 1000)
        size = len(done.stdout)
    return sorted(took)[len(took) // 2], size


def _killed(folder: Path, kills: int) -> Row:
    """Kill a recorder again and again: what it had said to be written is there, once."""
    folder.mkdir()
    chance = random.Random(3)  # noqa: S311 - as above
    said = 0
    for _ in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-m", "scripts.lib.bench.reading_keeper", str(folder), str(said)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[3],
        )
        assert child.stdout is not None
        # After the first line it is at work; then at any moment
        for line in _lines_for(child.stdout.fileno(), chance.random() * 0.3):
            said = max(said, int(line))
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        said = max([said, *(int(line) for line in rest.split() if line.isdigit())])
    lost, twice, odd = asyncio.run(_checked(folder, said))
    is_fine = not (lost or twice or odd)
    told = f"{lost} lost, {twice} twice, {odd} wrong of {said}"
    return _row(f"{kills} kill -9: values that were written", told, "none", is_fine, "")


def _lines_for(handle: int, wait_s: float) -> Iterator[str]:
    """Yield the lines that arrive, for so long after the first."""
    with os.fdopen(os.dup(handle), "r") as lines:
        yield lines.readline().strip() or "0"
        end_s = time.monotonic() + wait_s
        while time.monotonic() < end_s:
            line = lines.readline().strip()
            if not line:
                return
            yield line


async def _checked(folder: Path, said: int) -> tuple[int, int, int]:
    """Return how many values are lost, twice or wrong; value n was recorded at minute n."""
    store = ReadingStore(folder, Retention(), "check")
    await store.open()
    series = await store.series(SeriesKind("counter"), 60)
    seen: list[float] = []
    wrong = 0
    for day in range(said // MINUTES + 2):
        rows = await store.rows(series, BEGIN_MS + day * DAY_MS, BEGIN_MS + (day + 1) * DAY_MS)
        seen += rows.means
        wrong += sum(
            (at - BEGIN_MS) // 60_000 != value
            for at, value in zip(rows.at_ms, rows.means, strict=True)
        )
    await store.aclose()
    there = set(seen)
    return sum(value not in there for value in range(said)), len(seen) - len(there), wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
