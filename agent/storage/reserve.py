"""Disk reserve: a file that is deleted when the disk is full.

What has to be written then, the audit log and the end of the agent, still finds a place. The file
is made again when there is room, and never where it would itself fill a small card.
"""

import asyncio
import contextlib
import logging
import os
from pathlib import Path

from agent.system.clock import Clock

_log = logging.getLogger(__name__)

NAME = "reserve"
# Some days of the audit log, and every write of a shutdown
RESERVE_BYTES = 16 * 1024 * 1024
# With less than this besides, a card has no room to keep any back
LEAST_FREE_BYTES = 256 * 1024 * 1024
# Below this a write of ours may already find none
LOW_BYTES = 4 * 1024 * 1024
# A log that runs wild fills the last megabytes in some seconds; as much as a fast card takes
LOOK_S, LONGEST_LOOK_S = 2.0, 30.0
FASTEST_FILL_BYTES_PER_S = 100 * 1024 * 1024
# A person who is told more often does not read it
TELL_EVERY_S = 3600.0
_FULL_TEXT = (
    "storage: disk full, reserve released (reserve_mb=%d). Make room: until then little new data "
    "is kept, and acts that cannot be recorded are refused"
)


class Reserve:
    """The reserve in one folder.

    Args:
        size_bytes: how much is kept back.
        least_free_bytes: how much has to stay free beside it when it is made.
        low_bytes: with less than this free it is given up.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        size_bytes: int = RESERVE_BYTES,
        least_free_bytes: int = LEAST_FREE_BYTES,
        low_bytes: int = LOW_BYTES,
    ) -> None:
        self._path = folder / NAME
        self._clock = clock
        self._size_bytes = size_bytes
        self._least_free_bytes = least_free_bytes
        self._low_bytes = low_bytes
        self._told_s: float | None = None
        self._pause_s = LOOK_S

    async def run(self) -> None:
        """Look after the reserve until cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await self._clock.sleep(self._pause_s)

    def give_up_if_full(self) -> None:
        """Delete the reserve where there is no room: at a start, before a database is opened."""
        try:
            if self._path.exists() and _free_bytes(self._path.parent) < self._low_bytes:
                self._give_up()
        except OSError as err:
            _log.debug("storage: reserve not looked at: %s", err)

    def look(self) -> None:
        """Create the reserve if there is room; delete it if there is none."""
        try:
            free_bytes = _free_bytes(self._path.parent)
            until_low_s = (free_bytes - self._low_bytes) / FASTEST_FILL_BYTES_PER_S
            self._pause_s = min(max(until_low_s, LOOK_S), LONGEST_LOOK_S)
            if self._path.exists():
                if free_bytes < self._low_bytes:
                    self._give_up()
            elif free_bytes >= self._size_bytes + self._least_free_bytes:
                self._make()
        except OSError as err:
            # A disk that cannot be looked at or written: its own errors say so elsewhere
            _log.debug("storage: no reserve: %s", err)

    def _make(self) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(handle, 0, self._size_bytes)
        except OSError:
            with contextlib.suppress(OSError):
                self._path.unlink()
            raise
        finally:
            os.close(handle)

    def _give_up(self) -> None:
        self._path.unlink()
        now_s = self._clock.monotonic_s()
        if self._told_s is None or now_s - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            _log.error(_FULL_TEXT, self._size_bytes // (1024 * 1024))


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
