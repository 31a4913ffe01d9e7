"""Reading position in a bot's updates, kept over restarts.

Losing it only brings messages again, which are known by their ids; so it costs no flush of the
disk. An old one is worth nothing: after a quiet week the platform counts from somewhere else.
"""

import asyncio
import json
import logging
from pathlib import Path

from agent.clock import Clock

_log = logging.getLogger(__name__)

# The platform keeps updates for a day: what it was told before is nothing that could come again
MAX_AGE_S = 20 * 3600.0


class Position:
    """The offset of the next request; 0 asks for whatever was not confirmed."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self.offset = 0

    async def load(self) -> None:
        self.offset = await asyncio.to_thread(self._read)

    async def advance(self, offset: int) -> None:
        """Everything below is committed."""
        self.offset = offset
        await asyncio.to_thread(self._write)

    def confirmed(self) -> None:
        """The platform was told, and has forgotten what is below."""
        self.offset = 0

    def _read(self) -> int:
        try:
            told = json.loads(self._path.read_bytes())
            offset, saved_s = int(told["offset"]), float(told["saved_at_s"])
        except (OSError, ValueError, TypeError, KeyError):
            return 0
        age_s = self._clock.wall_s() - saved_s
        return max(offset, 0) if 0 <= age_s <= MAX_AGE_S else 0

    def _write(self) -> None:
        told = {"offset": self.offset, "saved_at_s": self._clock.wall_s()}
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_text(json.dumps(told))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far Telegram was read is not kept: %s", err.strerror)
