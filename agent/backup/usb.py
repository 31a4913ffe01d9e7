"""Folder of the USB disk that is connected and mounted."""

from pathlib import Path

from agent.errors import BackupRefused

_MOUNTS = Path("/proc/self/mounts")
_BLOCKS = Path("/sys/class/block")
_SPACE = "\\040"


def usb_folder(mounts: Path = _MOUNTS, blocks: Path = _BLOCKS) -> Path:
    """Return where it is mounted.

    Raises:
        BackupRefused: there is none, or more than one.
    """
    found = []
    for line in mounts.read_text("utf-8", "replace").splitlines():
        device, place, *_ = line.split()
        if device.startswith("/dev/") and _is_usb(blocks / Path(device).name):
            found.append(Path(place.replace(_SPACE, " ")))
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(map(str, found))
        raise BackupRefused(f"several USB disks are mounted: name one with --to: {places}")
    there = (
        sorted(path.name for path in blocks.iterdir() if _is_usb(path)) if blocks.exists() else []
    )
    if there:
        raise BackupRefused(
            f"the USB disk is not mounted: run `sudo mount /dev/{there[-1]} /mnt` and use "
            "--to /mnt, then `sudo umount /mnt` before you pull it"
        )
    raise BackupRefused("no USB disk is connected")


def _is_usb(block: Path) -> bool:
    """Return true if the kernel shows the block device below a USB port."""
    return block.exists() and any(step.startswith("usb") for step in block.resolve().parts)
