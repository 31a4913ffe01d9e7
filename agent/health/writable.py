"""Writability of the state folder, and since when it is lost: a failing card does that.

Only looks; what cannot be looked at counts as writable, since writing to it says why it is not.
"""

import os
import time
from pathlib import Path

from agent.clock import Clock


class Writable:
    """A folder's file system."""

    def __init__(self, folder: Path, clock: Clock, aside: Path | None = None) -> None:
        from agent.health import aside as kept_aside  # noqa: PLC0415 - no import needs it

        self._folder = folder
        # It says so once, and stays for as long as the machine runs
        self._aside = kept_aside.why_aside(aside or kept_aside.ASIDE)
        self._clock = clock
        self._since_s: float | None = None

    def sentence(self) -> str:
        """Return the sentence about it; usually empty."""
        if self._aside:
            return f"the data partition is left alone ({self._aside}): I keep nothing, I only talk"
        if not self._is_read_only():
            self._since_s = None
            return ""
        if self._since_s is None:
            self._since_s = self._clock.wall_s()
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(self._since_s))
        return f"storage is read-only since {since}: I keep nothing and act on nothing"

    def _is_read_only(self) -> bool:
        try:
            return bool(os.statvfs(self._folder).f_flag & os.ST_RDONLY)
        except OSError:
            return False
