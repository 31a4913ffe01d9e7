"""Is there a log after a restart, and does it leave room?"""

import os
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread

_SERVICE = "run/systemd/journal"
_KEPT = "var/log/journal"
_BYTES_PER_MB = 1024 * 1024
_BLOCK_BYTES = 512
# What a card has to spare for words about the past
_LARGE_MB = 512


async def check(patient: Patient) -> Finding:
    root = patient.readings.kernel.root
    return await in_daemon_thread(lambda: _finding(root))


def _finding(root: Path) -> Finding:
    if not (root / _SERVICE).is_dir():
        return Finding.ok("no journal here: what the agent says goes to its terminal")
    kept = root / _KEPT
    if not kept.is_dir():
        return Finding.warning(
            "the journal is gone after a restart: `sudo mkdir -p /var/log/journal && sudo "
            "systemctl restart systemd-journald` keeps it"
        )
    size_mb = _size_bytes(kept) // _BYTES_PER_MB
    if size_mb > _LARGE_MB:
        return Finding.warning(
            f"the journal has {size_mb} MB: `sudo journalctl --vacuum-size=128M` makes it smaller"
        )
    return Finding.ok(f"the journal outlives a restart and has {size_mb} MB")


def _size_bytes(folder: Path) -> int:
    """Of what may be looked at."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * _BLOCK_BYTES
            except OSError:
                continue
    return total
