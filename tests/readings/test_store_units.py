from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore

# Midnight, UTC
BEGIN_MS = 20_880 * DAY_MS


async def test_volts_are_no_litres_after_a_calibration(tmp_path: Path) -> None:
    volts, litres = SeriesKind("tank", "V"), SeriesKind("tank", "l")
    store = ReadingStore(tmp_path, Retention(), "boot")
    await store.open()
    store.place(BEGIN_MS, is_sure=True)
    store.add(await store.series(volts, 60), 0.0, 2.1)
    await store.commit(BEGIN_MS)
    # Noted, and not written yet
    store.add(await store.series(volts, 60), 60.0, 2.2)
    store.add(await store.series(litres, 60), 120.0, 70.0)
    await store.commit(BEGIN_MS + 120_000)
    await store.aclose()
    again = ReadingStore(tmp_path, Retention(), "boot")
    await again.open()
    found = {}
    for one in again.every_series():
        rows = await again.rows(one, BEGIN_MS, BEGIN_MS + 180_000)
        found[one.name] = one.kind.unit, rows.means
    await again.aclose()
    assert found == {"tank": ("l", [70.0]), "tank.former": ("V", [2.1, 2.2])}
