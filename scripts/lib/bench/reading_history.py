"""A history of weather-like values, in the record of readings and as plain rows of SQLite."""

import asyncio
import math
import os
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agent.readings.series import Series, SeriesKind
from agent.readings.store import DAY_MS, ReadingStore

SENSORS = 20
BEGIN_MS = 20_000 * DAY_MS
MINUTES = 1440
# Beside a store of a year: more rows make no query of a month slower
PLAIN_DAYS = 40
# Questions of which the median counts
ASKED = 40


def value_of(sensor: int, minute: int, noise: random.Random) -> float:
    day = math.sin(minute / MINUTES * math.tau + sensor)
    season = math.sin(minute / MINUTES / 365 * math.tau)
    return round(15 + sensor / 4 + 5 * day + 8 * season + noise.gauss(0, 0.1), 1)


async def recorded(
    store: ReadingStore,
    days: int,
    commit_minutes: int,
    begin: int = 0,
    *,
    sensors: int = SENSORS,
    is_synced: bool = False,
) -> list[Series]:
    """Record so many days.

    Args:
        begin: the first of them.
        is_synced: each commit is followed by what a file system writes in the minutes after it.
    """
    noise = random.Random(1)  # noqa: S311 - a series that is the same again
    every = [
        await store.series(SeriesKind(f"sensor{one}.temperature", "°C"), 60)
        for one in range(sensors)
    ]
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(begin * MINUTES, (begin + days) * MINUTES):
        for number, series in enumerate(every):
            store.add(series, minute * 60.0, value_of(number, minute, noise))
        if minute % commit_minutes == commit_minutes - 1:
            await store.commit(BEGIN_MS + minute * 60_000)
            await store.settle()
            if is_synced:
                await asyncio.to_thread(os.sync)
    return every


def plain_rows(path: Path, days: int) -> Path:
    noise = random.Random(1)  # noqa: S311 - a series that is the same again
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE r (s INT, at INT, v REAL, PRIMARY KEY (s, at)) WITHOUT ROWID")
        for sensor in range(SENSORS):
            made = (
                (sensor, BEGIN_MS + minute * 60_000, value_of(sensor, minute, noise))
                for minute in range(days * MINUTES)
            )
            db.executemany("INSERT INTO r VALUES (?, ?, ?)", made)
        db.commit()
    return path


def plain_ms(path: Path, days: int) -> float:
    asked = "SELECT min(v), avg(v), max(v), count(*) FROM r WHERE s = ? AND at >= ? AND at < ?"
    with closing(sqlite3.connect(path)) as db:
        took = []
        for one in range(ASKED):
            begun = time.perf_counter()
            db.execute(asked, (one % SENSORS, BEGIN_MS, BEGIN_MS + days * DAY_MS)).fetchone()
            took.append((time.perf_counter() - begun) * 1000)
    return sorted(took)[len(took) // 2]
