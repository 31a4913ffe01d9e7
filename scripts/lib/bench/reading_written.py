"""Bytes that the record of readings writes in a month, counted at the block devices.

After each commit everything is flushed: what a file system notes of a write, its journal and its
tables, is counted as it comes in the minutes between two commits.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.store import ReadingStore
from scripts.lib.bench.block_devices import file_system, missing, plain_device, written_bytes
from scripts.lib.bench.reading_history import SENSORS, recorded
from scripts.lib.bench.table import Row

MOST_MB_A_MONTH = 1.0
COMMIT_MINUTES = 10
_MB = 1_000_000
_MONTH_DAYS = 30
# A ring of 320 slots, and room to spare
_RING_MIB = 2
# Days that fill the first pages, and days that are counted
_BEFORE, _COUNTED = 2, 10
# One of a board beside the temperature, the load, the memory and the disk of the machine
_FEW = 5


@dataclass(frozen=True, slots=True)
class _Case:
    what: str
    sensors: int
    has_device: bool


_CASES = (
    _Case(
        f"{SENSORS} sensors, ring on a device of its own, as on the card", SENSORS, has_device=True
    ),
    _Case("1 sensor beside the machine's 4 readings, the same", _FEW, has_device=True),
    _Case(f"{SENSORS} sensors, ring in a file on ext4", SENSORS, has_device=False),
)


def written_rows(folder: Path) -> list[Row]:
    return [_row(folder, case) for case in _CASES]


def _row(folder: Path, case: _Case) -> Row:
    name = f"written a month and sensor: {case.what}"
    bar = f"<= {MOST_MB_A_MONTH:g} MB"
    if reason := missing():
        return Row(name, bar, "", reason, None)
    with _places(folder, case) as (root, device):
        month_mb, held = asyncio.run(_month_mb(root, device, case.sensors))
    return Row(name, bar, f"{month_mb:.2f} MB", held, month_mb <= MOST_MB_A_MONTH)


@contextlib.contextmanager
def _places(folder: Path, case: _Case) -> Iterator[tuple[Path, Path | None]]:
    with contextlib.ExitStack() as held:
        root = held.enter_context(file_system(folder))
        device = held.enter_context(plain_device(folder, _RING_MIB)) if case.has_device else None
        yield root, device


async def _month_mb(root: Path, device: Path | None, sensors: int) -> tuple[float, str]:
    """Return the MB of a month for each sensor, and what its files hold."""
    folder = root / "state"
    store = ReadingStore(folder, Retention(), "boot", device=device)
    await store.open()
    try:
        await recorded(store, _BEFORE, COMMIT_MINUTES, sensors=sensors)
        before = _written_bytes(root, device)
        await recorded(store, _COUNTED, COMMIT_MINUTES, _BEFORE, sensors=sensors, is_synced=True)
        written = _written_bytes(root, device) - before
    finally:
        await store.aclose()
    held = sum(one.stat().st_size for one in folder.iterdir())
    told = f"{held / _MB:.1f} MB in files after {_BEFORE + _COUNTED} days"
    return written / _MB / _COUNTED * _MONTH_DAYS / sensors, told


def _written_bytes(root: Path, device: Path | None) -> int:
    return written_bytes(root) + (0 if device is None else written_bytes(device))
