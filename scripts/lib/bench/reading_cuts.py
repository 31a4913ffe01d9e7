"""Cuts of the power, on paper: what a recorder had said to be written is there, once and right.

Every write of the ring and of the database is noted while a recorder works, packs, ends and starts
again. Then power is cut at places among them, and the store is opened on what is left.
"""

import asyncio
import contextlib
import random
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.ring import SLOT_BYTES
from agent.readings.store import ReadingStore
from agent.storage.database import was_set_aside
from scripts.lib.bench.paper_cuts import Event, Fate, PaperDisk, SaidEvent
from scripts.lib.bench.reading_keeper import AT_ONCE, SLOTS, write
from scripts.lib.bench.reading_kills import Harm, harm_of
from scripts.lib.bench.table import Row
from scripts.lib.bench.write_trace import missing, traced

CUTS = 100
_ROOT = Path(__file__).resolve().parents[3]
# Each packs twice, and ends with the log of SQLite put into its file
_LIVES, _COMMITS = 3, 65
_STATE, _DEVICE = "state", "ring-device"


@dataclass(frozen=True, slots=True)
class _Recording:
    """Deeds of a recorder, and the files that were there before."""

    events: list[Event]
    before: list[tuple[Path, bytes]]


@dataclass(slots=True)
class _Found:
    values: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    damaged: int = 0

    def add(self, harm: Harm, said: int) -> None:
        self.values += said
        self.lost += harm.lost
        self.twice += harm.twice
        self.wrong += harm.wrong

    @property
    def is_fine(self) -> bool:
        return not (self.lost or self.twice or self.wrong or self.damaged)


def cut_row(folder: Path, cuts: int) -> Row:
    """Cut the power so often, half of the times with the ring on a device of its own."""
    name, bar = f"{cuts} cuts on paper: values that were written, files", "none"
    if reason := missing():
        return Row(name, bar, "", reason, None)
    found, writes = _Found(), 0
    chance = random.Random(4)  # noqa: S311 - the same moments each time
    for number, has_device in enumerate((False, True)):
        recording = _recorded(folder / f"recorded-{number}", has_device=has_device)
        writes += len(recording.events)
        for said, files in _states(recording, (cuts + number) // 2, chance):
            _look_at(folder / "cut", files, said, found)
    told = f"{found.lost} lost, {found.twice} twice, {found.wrong} wrong, {found.damaged} damaged"
    beside = f"among {writes} writes and flushes, {found.values} values looked for"
    return Row(name, bar, told, beside, found.is_fine)


def _recorded(root: Path, *, has_device: bool) -> _Recording:
    (root / _STATE).mkdir(parents=True)
    device, before = root / _DEVICE, []
    if has_device:
        device.write_bytes(bytes(SLOTS * SLOT_BYTES))
        before.append((device, device.read_bytes()))
    events: list[Event] = []
    for life in range(_LIVES):
        command = [sys.executable, "-m", "scripts.lib.bench.reading_keeper", str(root / _STATE)]
        command += [str(life * _COMMITS * AT_ONCE), str(_COMMITS)]
        command += [str(device)] * has_device
        events += traced(command, _ROOT, root / "trace", root)
    return _Recording(events, before)


def _states(
    recording: _Recording, cuts: int, chance: random.Random
) -> Iterator[tuple[int, dict[Path, bytes]]]:
    """Yield what is found after each cut, and how many values were said to be written by then."""
    events = recording.events
    said_at = [at for at, one in enumerate(events) if _said(one)]
    places = sorted(chance.choices(range(said_at[0], len(events)), k=cuts))
    fates = list(Fate)
    disk, done, said = PaperDisk(recording.before), 0, 0
    for number, place in enumerate(places):
        for event in events[done : place + 1]:
            disk.advance(event)
            said = _said(event) or said
        done = place + 1
        yield said, disk.cut(chance, fates[number % len(fates)])


def _said(event: Event) -> int:
    """Return how many values are written, if it says that."""
    if isinstance(event, SaidEvent) and event.text.strip().isdecimal():
        return int(event.text)
    return 0


def _look_at(root: Path, files: dict[Path, bytes], said: int, found: _Found) -> None:
    shutil.rmtree(root, ignore_errors=True)
    (root / _STATE).mkdir(parents=True)
    for path, content in files.items():
        place = root / (_DEVICE if path.name == _DEVICE else f"{_STATE}/{path.name}")
        place.write_bytes(content)
    database = root / _STATE / "readings.db"
    found.damaged += not _is_whole(database)
    device = root / _DEVICE
    harm, after = asyncio.run(_opened(root / _STATE, device if device.exists() else None, said))
    found.add(harm, said)
    # It goes on as if nothing had been
    found.add(after, harm.last + 1 + AT_ONCE)
    found.damaged += bool(was_set_aside(database))


def _is_whole(database: Path) -> bool:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def _opened(folder: Path, device: Path | None, said: int) -> tuple[Harm, Harm]:
    """Return what is there, and what is there after one more write and another start."""
    store = ReadingStore(folder, Retention(minute_days=3660), "boot", SLOTS, device)
    await store.open()
    harm = await harm_of(store, said)
    written = await write(store, harm.last + 1)
    await store.aclose()
    again = ReadingStore(folder, Retention(minute_days=3660), "boot", SLOTS, device)
    await again.open()
    after = await harm_of(again, written)
    await again.aclose()
    return harm, after
