"""Lineage of a device: the name it was born with, and the number of restores in its past.

Of two agents with one name that of the lower epoch is the older of two that were one.
"""

import socket
from pathlib import Path

import msgspec

from agent.storage.files import write_atomic

NAME = "epoch.json"


class Lineage(msgspec.Struct, frozen=True):
    """Name and epoch; the epoch of a device that was never restored is 0."""

    device: str = ""
    epoch: int = 0

    def is_before(self, other: "Lineage") -> bool:
        """Return true if the other one was restored from a backup of this one."""
        return self.device == other.device and self.epoch < other.epoch


NEVER_RESTORED = Lineage()


def device_name() -> str:
    """Return the machine's name without its domain, as a part of a file name."""
    name = socket.gethostname().partition(".")[0]
    return "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name) or "barnacle"


def read_lineage(state_dir: Path) -> Lineage:
    """Return the lineage; that of a device that was never restored has the machine's name."""
    try:
        kept = msgspec.json.decode((state_dir / NAME).read_bytes(), type=Lineage)
    except (OSError, msgspec.DecodeError, UnicodeError):
        kept = Lineage()
    return kept if kept.device else Lineage(device_name(), kept.epoch)


def write_lineage(state_dir: Path, lineage: Lineage) -> None:
    """Keep the lineage; raise StorageFull where it is not kept."""
    write_atomic(state_dir / NAME, msgspec.json.encode(lineage))
