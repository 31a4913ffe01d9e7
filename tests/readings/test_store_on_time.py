from pathlib import Path

import pytest

from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.readings.summary import summarize

# Midnight, UTC
BEGIN_MS = 20_880 * DAY_MS
PUMP = SeriesKind("pump", is_switch=True)
MINUTES = 1440


@pytest.mark.parametrize("hours", [1, 24])
@pytest.mark.parametrize("span_days", [1, 2, 3, 30])
async def test_what_is_on_over_packs_and_midnights_is_on_all_the_time(
    tmp_path: Path, hours: int, span_days: int
) -> None:
    # It packs at each third commit
    store = ReadingStore(tmp_path, Retention(), "boot", slots=4)
    await store.open()
    series = await store.series(PUMP, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(3 * MINUTES):
        store.add(series, minute * 60.0, 1.0)
        if minute % (60 * hours) == 60 * hours - 1:
            await store.commit(BEGIN_MS + minute * 60_000)
    store.add(series, 3 * MINUTES * 60.0, 0.0)
    found = summarize(await store.rows(series, BEGIN_MS, BEGIN_MS + span_days * DAY_MS))
    assert found is not None
    # A quarter of an hour that is packed does not say how its last minute was
    lost_s = 0 if span_days <= 3 else 60
    assert found.on_s == min(span_days, 3) * 86_400 - lost_s
    await store.aclose()


async def test_a_dense_switch_is_on_over_midnight_by_the_minute_too(tmp_path: Path) -> None:
    store = ReadingStore(tmp_path, Retention(raw_days=0), "boot", slots=8)
    await store.open()
    series = await store.series(PUMP, 10)
    store.place(BEGIN_MS, is_sure=True)
    for look in range(2 * MINUTES * 6):
        store.add(series, look * 10.0, 1.0)
        if look % 2000 == 1999:
            await store.commit(BEGIN_MS + look * 10_000)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    found = summarize(rows)
    assert found is not None
    assert len(rows) == MINUTES
    assert found.on_s == 86_400
    await store.aclose()
