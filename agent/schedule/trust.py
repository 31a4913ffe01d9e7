"""Whether the time can be gone by: a Pi wakes in 1970, or when it was last switched off.

The network has set the clock, or it shows a time that this program can have been made before.
"""

from pathlib import Path

# 2026-01-01: this program is younger, so no right clock shows an earlier time
RELEASED_S = 1_767_225_600.0
# What systemd-timesyncd leaves when it has set the clock
SYNCHRONIZED = Path("/run/systemd/timesync/synchronized")


def is_trusted(wall_s: float, synchronized: Path = SYNCHRONIZED) -> bool:
    return wall_s >= RELEASED_S or synchronized.exists()
