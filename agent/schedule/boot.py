"""The run of the machine that this is: what the monotonic clock counts from."""

from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id(path: Path = _BOOT_ID) -> str:
    """Another one after each start of the kernel; empty where it cannot be told."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
