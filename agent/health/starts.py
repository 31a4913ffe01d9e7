"""Count of recent starts without an orderly end: a crash loop is noticed here.

A start is on record before anything that may crash, and an orderly end takes all of them back.
"""

import contextlib
import logging
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.errors import StorageFull
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

# So many within so long are no accident
MANY_STARTS = 5
WITHIN_S = 600.0
SAFE_MODE_TEXT = (
    f"I was started {MANY_STARTS} times within {WITHIN_S / 60:.0f} minutes and ended well none of "
    "these times, so I use no tools now and only talk. The log says what happened; "
    "`systemctl restart barnacle` lets me try again."
)


class Starts:
    """The starts that nobody has ended, in a file."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def begin(self) -> bool:
        """Record a start; whether it is one too many."""
        now_s = self._clock.wall_s()
        # What seems to lie ahead was before the clock was set back
        late = [min(at_s, now_s) for at_s in self._read() if at_s > now_s - WITHIN_S]
        late = [*late, now_s][-MANY_STARTS:]
        try:
            write_atomic(self._path, msgspec.json.encode(late))
        except StorageFull as err:
            _log.warning("this start is not on record: %s", err)
        return len(late) >= MANY_STARTS

    def end(self) -> None:
        """All is well that ends well."""
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _read(self) -> list[float]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[float])
        except (OSError, msgspec.DecodeError):
            return []
