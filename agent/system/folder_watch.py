"""Watch of a folder: ends a wait when a name in it appears, goes or changes.

The kernel tells (inotify), so that nobody looks ten times a second. Where it does not, because the
folder is not there yet or no watch is left, every wait is a short pause instead.
"""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from agent.system.clock import Clock, rest

if TYPE_CHECKING:
    from inotify_simple import INotify

_log = logging.getLogger(__name__)

# What the kernel does not tell, as a change in a folder of another machine, is seen by then
WATCHED_S = 10.0


class FolderWatch:
    """Watch of one folder, opened by the first wait.

    Args:
        unwatched_s: the pause where the kernel does not tell.
        also_written: a file that was written in its place counts as changed.
        also_beneath: a name in one of its folders counts as one in it.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        unwatched_s: float,
        *,
        also_written: bool = False,
        also_beneath: bool = False,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._unwatched_s = unwatched_s
        self._also_written = also_written
        self._also_beneath = also_beneath
        self._changed = asyncio.Event()
        self._watching: INotify | None = None
        self._is_refused = False

    async def wait(self, at_most_s: float = WATCHED_S) -> bool:
        """Return true when something may have changed, false when the time is over."""
        if self._watching is None and self._open():
            # What changed before is to be looked for
            return True
        if self._watching is None:
            await self._clock.sleep(min(self._unwatched_s, at_most_s))
            return True
        over = asyncio.ensure_future(rest(self._clock, at_most_s))
        told = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({over, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            told.cancel()
        is_told = self._changed.is_set()
        self._changed.clear()
        return is_told

    def close(self) -> None:
        if self._watching is not None:
            asyncio.get_running_loop().remove_reader(self._watching.fileno())
            self._watching.close()
            self._watching = None

    def _open(self) -> bool:
        if self._is_refused or not self._folder.is_dir():
            return False
        from inotify_simple import INotify, flags  # noqa: PLC0415 - no start without a wait needs it

        wanted = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ATTRIB
        if self._also_written:
            wanted |= flags.CLOSE_WRITE
        watching = None
        try:
            watching = INotify(nonblocking=True)
            for folder in self._folders():
                watching.add_watch(folder, wanted | flags.ONLYDIR)
        except OSError as err:
            # Watches are counted by the kernel, and others use them too
            _log.info("system: folder not watched (folder=%s, reason=%s)", self._folder, err)
            self._is_refused = True
            if watching is not None:
                watching.close()
            return False
        self._watching = watching
        asyncio.get_running_loop().add_reader(watching.fileno(), self._read)
        return True

    def _folders(self) -> list[Path]:
        beneath = self._folder.iterdir() if self._also_beneath else ()
        return [self._folder, *(one for one in beneath if one.is_dir())]

    def _read(self) -> None:
        from inotify_simple import flags  # noqa: PLC0415 - loaded by now

        assert self._watching is not None
        with contextlib.suppress(BlockingIOError):
            events = self._watching.read(timeout=0)
            self._changed.set()
            # A folder is gone, and its watch with it, or one has come: the next wait opens anew
            ends = flags.IGNORED | (flags.ISDIR if self._also_beneath else 0)
            if any(event.mask & ends for event in events):
                self.close()
