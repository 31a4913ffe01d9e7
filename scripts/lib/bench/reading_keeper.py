"""Recorder that is killed or cut off: writes counted values, and says how many are written."""

import asyncio
import sys
from pathlib import Path

from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from scripts.lib.bench.reading_brain import store_at

BEGIN_MS = 20_000 * DAY_MS
# A slot of the ring each; packed every few dozen
SLOTS = 40
AT_ONCE = 37
COUNTER = SeriesKind("counter")


async def keep(folder: Path, begin: int, commits: int, device: Path | None, url: str) -> None:
    """Record from `begin` on, so many times, or until killed."""
    store = store_at(folder, url, SLOTS, device=device)
    await store.open()
    number = begin
    while not commits or number < begin + commits * AT_ONCE:
        number = await write(store, number)
        print(number, flush=True)
    await store.aclose()


async def write(store: ReadingStore, begin: int) -> int:
    """Write the next values; return which comes after them. Value n is recorded at minute n."""
    series = await store.series(COUNTER, 60)
    store.place(BEGIN_MS, is_sure=True)
    for number in range(begin, begin + AT_ONCE):
        store.add(series, number * 60.0, float(number))
    await store.commit(BEGIN_MS + (begin + AT_ONCE) * 60_000)
    return begin + AT_ONCE


if __name__ == "__main__":
    place, first, times, ring, url = (*sys.argv[1:], "", "")[:5]
    asyncio.run(keep(Path(place), int(first), int(times), Path(ring) if ring else None, url))
