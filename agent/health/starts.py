"""Count of recent starts without an orderly end: a crash loop is noticed here.

A start is on record before anything that may crash, and an orderly end takes all of them back. Only
starts since the machine itself was started count: those before were ended with it, by a power cut
or its watchdog, and the image counts machines that end early.
"""

import contextlib
import logging
from pathlib import Path

import msgspec

from agent.errors import StorageFull
from agent.machine.boot import boot_id
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# So many within so long are no accident
MANY_STARTS = 5
WITHIN_S = 600.0
SAFE_MODE_TEXT = (
    f"I was started {MANY_STARTS} times within {WITHIN_S / 60:.0f} minutes and "
    "never ended normally, so I now only talk and use no tools. The log says what "
    "happened; `systemctl restart barnacle` lets me try again."
)


class Starts:
    """Starts without a normal end, in a file."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def begin(self) -> bool:
        """Record a start; return True when it is one too many."""
        now_s, boot = self._clock.wall_s(), boot_id()
        # What seems to lie ahead was before the clock was set back
        late = [
            (min(at_s, now_s), boot)
            for at_s, of_boot in self._read()
            if at_s > now_s - WITHIN_S and of_boot == boot
        ]
        late = [*late, (now_s, boot)][-MANY_STARTS:]
        try:
            write_atomic(self._path, msgspec.json.encode(late))
        except StorageFull as err:
            _log.warning("start: cannot record this start (error=%s)", err)
        return len(late) >= MANY_STARTS

    def end(self) -> None:
        """Forget the recorded starts after a normal end."""
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _read(self) -> list[tuple[float, str]]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[tuple[float, str]])
        except (OSError, msgspec.DecodeError, UnicodeError):
            return []
