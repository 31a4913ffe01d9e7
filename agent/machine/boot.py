"""The kernel's name for this start of the machine: another one after each restart and power cut."""

from pathlib import Path

PATH = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the name; empty where the kernel does not say it."""
    try:
        return PATH.read_text().strip()
    except OSError:
        return ""
