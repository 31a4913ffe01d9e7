"""Emergency stop: one file in the state folder that anybody sets and the owner clears.

While it is set nothing that changes the world may run, over restarts too. The file is the state:
another process sets or removes it, and the agent notices. What cannot be recorded holds anyway,
for as long as this agent lives.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import StorageFull
from agent.storage.files import sync_folder, write_atomic
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from agent.system.clock import Clock
    from agent.system.folder_watch import FolderWatch

_log = logging.getLogger(__name__)

FILE_NAME = "estop"
# Somebody who stops it from another terminal sees it stand within 0.2 s, also where the kernel does
# not tell of the file; each look is one stat
LOOK_S = 0.1
# Who stopped it, in a sentence
MAX_REASON_CHARS = 200
HOW_TO_CLEAR = "type `/estop clear` here, or run `barnacle estop --clear`"

Listener = Callable[[], None]


class EmergencyStop:
    """Emergency stop of one agent; tells its listeners first and writes the file afterwards."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._on_set: list[Listener] = []
        self._on_clear: list[Listener] = []
        self.reason = read_reason(folder) or ""
        # What is not on disk must not be taken for cleared because no file is there
        self._is_recorded = bool(self.reason)
        self._is_clearing = False

    @property
    def is_set(self) -> bool:
        return bool(self.reason)

    @property
    def sentence(self) -> str:
        """Explain the stop and how to clear it; "" while it is not set."""
        return f"the emergency stop is set ({self.reason}); {HOW_TO_CLEAR}" if self.reason else ""

    def listen(self, on_set: Listener, on_clear: Listener = lambda: None) -> None:
        """Add listeners; call `on_set` at once if the stop is already set."""
        self._on_set.append(on_set)
        self._on_clear.append(on_clear)
        if self.is_set:
            on_set()

    async def engage(self, reason: str) -> bool:
        """Stop now; return true if the stop also survives a restart."""
        self._set(reason)
        self._is_recorded = await asyncio.to_thread(record, self._path.parent, reason)
        return self._is_recorded

    async def clear(self) -> None:
        """Clear the stop; listeners undo their part.

        Raises:
            StorageFull: the file cannot be removed; the stop stays.
        """
        # That the file goes is our doing now, not news from another process
        self._is_clearing = True
        try:
            await asyncio.to_thread(remove, self._path.parent)
        finally:
            self._is_clearing = False
        self._is_recorded = False
        self._set("")

    def changes(self, clock: "Clock") -> "FolderWatch":
        """Return what tells of a change of the file; to be closed."""
        from agent.system.folder_watch import FolderWatch  # noqa: PLC0415 - an agent at work needs it

        return FolderWatch(self._path.parent, clock, LOOK_S)

    def look(self) -> None:
        """Take over the state of the file."""
        if self._is_clearing:
            return
        if _is_there(self._path):
            self._is_recorded = True
            if not self.is_set:
                self._set(read_reason(self._path.parent) or "by another program")
        elif self._is_recorded:
            self._is_recorded = False
            self._set("")

    def _set(self, reason: str) -> None:
        was_set, self.reason = self.is_set, printable_line(reason, MAX_REASON_CHARS)
        if self.is_set:
            _log.warning("estop: set (reason=%s)", self.reason)
        elif was_set:
            _log.info("estop: cleared")
        else:
            return
        for listener in self._on_set if self.is_set else self._on_clear:
            listener()


def read_reason(folder: Path) -> str | None:
    """Return the reason of the stop; None while it is not set. A damaged file counts as set."""
    path = folder / FILE_NAME
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(4 * MAX_REASON_CHARS)
    except FileNotFoundError:
        return None
    except OSError:
        text = ""
    return printable_line(text, MAX_REASON_CHARS).strip() or "for a reason that was not recorded"


def _is_there(path: Path) -> bool:
    """Return true if the file exists or cannot be checked."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def record(folder: Path, reason: str) -> bool:
    """Write the stop to disk; return false if not even an empty file fits."""
    path = folder / FILE_NAME
    try:
        write_atomic(path, reason.encode())
    except (OSError, StorageFull):
        # Where there is no room for a reason, there may be for a name
        with contextlib.suppress(OSError):
            path.touch()
    return path.exists()


def remove(folder: Path) -> bool:
    """Remove the stop from disk; return true if it was set.

    Raises:
        StorageFull: it cannot be removed.
    """
    try:
        (folder / FILE_NAME).unlink()
        sync_folder(folder)
    except FileNotFoundError:
        return False
    except OSError as err:
        raise StorageFull(f"the emergency stop stays set: {err.strerror}") from err
    return True
