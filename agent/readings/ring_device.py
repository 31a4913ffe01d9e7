"""Block device for the ring of batches, without a file system that would note the time of each.

A machine may offer one (README.md tells how). Without it the ring is a file.
"""

import logging
import os
from pathlib import Path

from agent.readings.ring import SLOT_BYTES, SLOTS, Ring

RING_DEVICE = Path("/dev/barnacle-ring")
# Less than half a day of a commit every ten minutes would be packed too often
_FEWEST_SLOTS = 64

_log = logging.getLogger(__name__)


def ring_on(device: Path, mark: int, slots: int = SLOTS) -> Ring | None:
    """Return the ring on the device; None where there is none that can be used.

    Args:
        mark: of the store: what another one has left on the device is not its own.
    """
    try:
        room = min(slots, _size_bytes(device) // SLOT_BYTES)
    except FileNotFoundError:
        return None
    except OSError as err:
        _log.warning("readings: device for the ring not used (error=%s)", err)
        return None
    if room < min(slots, _FEWEST_SLOTS):
        _log.warning("readings: device for the ring is too small (path=%s)", device)
        return None
    return Ring(device, room, mark)


def _size_bytes(device: Path) -> int:
    handle = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        return os.lseek(handle, 0, os.SEEK_END)
    finally:
        os.close(handle)
