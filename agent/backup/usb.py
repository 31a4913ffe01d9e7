"""Folder of the USB disk that is connected and mounted."""

import os
from collections.abc import Iterator
from pathlib import Path

from agent.errors import BackupRefused

_MOUNTS = Path("/proc/self/mounts")
_BLOCKS = Path("/sys/class/block")
_SPACE = "\\040"
# Where a card or disk with the system is mounted; `/` of an overlay is on no disk of its own
_SYSTEM = (Path("/"), Path("/boot"), Path("/boot/firmware"))


def usb_folder(state_dir: Path, mounts: Path = _MOUNTS, blocks: Path = _BLOCKS) -> Path:
    """Return where it is mounted.

    The disk of the system or of the state is none: the backup is to outlive it.

    Raises:
        BackupRefused: there is none, or more than one.
    """
    own = {_disk(block) for block in _blocks_of((*_SYSTEM, state_dir), blocks)}
    found = []
    for line in mounts.read_text("utf-8", "replace").splitlines():
        device, place, *_ = line.split()
        block = blocks / Path(device).name
        if device.startswith("/dev/") and _is_usb(block) and _disk(block) not in own:
            found.append(Path(place.replace(_SPACE, " ")))
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(map(str, found))
        raise BackupRefused(f"several USB disks are mounted: name one with --to: {places}")
    raise BackupRefused(_unmounted(blocks, own))


def _unmounted(blocks: Path, own: set[Path]) -> str:
    """Return why none is mounted, and what to do."""
    every = [path for path in blocks.iterdir() if _is_usb(path)] if blocks.exists() else []
    if there := sorted(path.name for path in every if _disk(path) not in own):
        return (
            f"the USB disk is not mounted: run `sudo mount /dev/{there[-1]} /mnt` and use "
            "--to /mnt, then `sudo umount /mnt` before you pull it"
        )
    if every:
        return (
            "no USB disk is connected but the one that this system or its state is on, with which "
            "a backup would be lost: connect another one"
        )
    return "no USB disk is connected"


def _is_usb(block: Path) -> bool:
    """Return true if the kernel shows the block device below a USB port."""
    return block.exists() and any(step.startswith("usb") for step in block.resolve().parts)


def _disk(block: Path) -> Path:
    """Return the disk of a partition, as the kernel shows it; a disk is its own."""
    real = block.resolve()
    return real.parent if (real / "partition").exists() else real


def _blocks_of(places: tuple[Path, ...], blocks: Path) -> Iterator[Path]:
    """Yield the block devices that hold these places, as far as they are there."""
    devices = {place.stat().st_dev for place in places if place.exists()}
    numbers = {f"{os.major(device)}:{os.minor(device)}" for device in devices}
    for block in blocks.iterdir() if blocks.exists() else ():
        known = block / "dev"
        if known.exists() and known.read_text("ascii").strip() in numbers:
            yield block
