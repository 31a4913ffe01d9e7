"""Recorder that is killed: writes counted values, and says how many are written."""

import asyncio
import sys
from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore

BEGIN_MS = 20_000 * DAY_MS
# A slot of the ring each; packed every few dozen
_SLOTS = 40
_AT_ONCE = 37


async def keep(folder: Path, begin: int) -> None:
    """Record from `begin` on, until killed."""
    store = ReadingStore(folder, Retention(minute_days=3660), "boot", _SLOTS)
    await store.open()
    series = await store.series(SeriesKind("counter"), 60)
    store.place(BEGIN_MS, is_sure=True)
    number = begin
    while True:
        for _ in range(_AT_ONCE):
            store.add(series, number * 60.0, float(number))
            number += 1
        await store.commit(BEGIN_MS + number * 60_000)
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(keep(Path(sys.argv[1]), int(sys.argv[2])))
