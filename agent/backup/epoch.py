"""Epoch of a device: the number of restores in its past.

An agent of a lower epoch than another one with the same name is the older of two that were one.
"""

from pathlib import Path

import msgspec

from agent.storage.files import write_atomic

NAME = "epoch.json"


class _Epoch(msgspec.Struct, frozen=True):
    epoch: int = 0


def read_epoch(state_dir: Path) -> int:
    """Return the epoch; 0 of a device that was never restored."""
    try:
        return msgspec.json.decode((state_dir / NAME).read_bytes(), type=_Epoch).epoch
    except (OSError, msgspec.DecodeError, UnicodeError):
        return 0


def write_epoch(state_dir: Path, epoch: int) -> None:
    """Keep the epoch; raise StorageFull where it is not kept."""
    write_atomic(state_dir / NAME, msgspec.json.encode(_Epoch(epoch)))
