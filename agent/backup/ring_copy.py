"""Copy of the newest readings where they lie on a device of their own, as the file of a ring."""

import contextlib
import sqlite3
from contextlib import closing
from pathlib import Path

from agent.backup.inventory import RING
from agent.readings.packing import read_state
from agent.readings.ring import Ring
from agent.readings.ring_device import RING_DEVICE, ring_on

_DATABASE = "readings.db"


def copy_ring(state_dir: Path, target: Path, device: Path = RING_DEVICE) -> bool:
    """Write the batches of the device and of the file into one file; false without a device."""
    database = state_dir / _DATABASE
    if not device.exists() or not database.exists():
        return False
    with contextlib.suppress(sqlite3.Error):
        uri = f"{database.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            mark = read_state(db).mark
        if (ring := ring_on(device, mark)) is not None:
            batches = [*Ring(state_dir / RING).read(), *ring.read()]
            copy = Ring(target, max(ring.slots, 1) * 2)
            for batch in sorted(batches, key=lambda one: one.number):
                copy.write(batch)
            return bool(batches)
    return False
