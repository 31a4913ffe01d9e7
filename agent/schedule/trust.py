"""Trust in the wall clock: a Pi starts in 1970, or at the time when it was last on.

The clock is trusted if the network has set it, or if it shows a time after this program was made.
"""

from pathlib import Path

# 2026-01-01: this program is younger, so no right clock shows an earlier time
RELEASED_S = 1_767_225_600.0
# What systemd-timesyncd leaves when it has set the clock
SYNCHRONIZED = Path("/run/systemd/timesync/synchronized")


def is_trusted(wall_s: float, synchronized: Path = SYNCHRONIZED) -> bool:
    return wall_s >= RELEASED_S or synchronized.exists()
