"""Store of timers in a file that people can read.

Blocking: call it in a thread from an event loop.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.passage import own
from agent.schedule.timer import MAX_TIMERS, CountdownTimer
from agent.storage.documents import open_documents

if TYPE_CHECKING:
    from tinydb import TinyDB


class TimerStore:
    """Timers by number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: TinyDB | None = None
        # Whoever is in an event loop comes from a thread each time
        self._alone = threading.RLock()

    def every(self) -> list[CountdownTimer]:
        """Return the timers in the order they were set; leaves invalid entries alone."""
        with self._alone:
            if not self._path.exists():
                return []
            timers = []
            for document in self._documents().all():
                with contextlib.suppress(msgspec.ValidationError):
                    timers.append(msgspec.convert(document, CountdownTimer))
            return sorted(timers, key=lambda timer: timer.number)

    def add(self, timer: CountdownTimer) -> CountdownTimer:
        """Return the timer with its number; raise BadArguments if its person has too many."""
        with self._alone:
            timers = self.every()
            if sum(one.person == timer.person for one in timers) >= MAX_TIMERS:
                raise BadArguments(own("there are {} timers already: cancel one first", MAX_TIMERS))
            numbers = {one.number for one in timers}
            numbered = replace(timer, number=max(numbers, default=0) + 1)
            self._documents().insert(msgspec.to_builtins(numbered))
            return numbered

    def change(
        self, number: int, change: Callable[[CountdownTimer], CountdownTimer]
    ) -> CountdownTimer:
        """Change a timer; raise BadArguments if it is gone."""
        with self._alone:
            from tinydb import where  # noqa: PLC0415 - only where something is kept

            before = next((one for one in self.every() if one.number == number), None)
            if before is None:
                raise BadArguments(own("this timer has already ended"))
            after = change(before)
            self._documents().update(msgspec.to_builtins(after), where("number") == number)
            return after

    def remove(self, number: int) -> bool:
        """Remove a timer; return whether it was there."""
        with self._alone:
            from tinydb import where  # noqa: PLC0415 - as above

            if not self._path.exists():
                return False
            return bool(self._documents().remove(where("number") == number))

    def forget(self, timer: CountdownTimer) -> bool:
        """Remove a timer unless it was changed, or another one has its number by now."""
        with self._alone:
            return timer in self.every() and self.remove(timer.number)

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        # Another process may have changed the file meanwhile
        self._opened.clear_cache()
        return self._opened
