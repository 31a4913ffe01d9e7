"""Cursor in a bot's updates, kept over restarts.

Losing it only brings messages again, which are known by their ids; so it costs no flush of the
disk. An old one is worth nothing: after a quiet week the platform counts from somewhere else.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile, spaced_json
from agent.system.clock import Clock

# The platform keeps updates for a day: what it was told before is nothing that could come again
MAX_AGE_S = 20 * 3600.0
# A file costs the card a block and a name; the next request confirms the offset all the same
SAVED_EVERY_S = 60.0


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    offset: int
    saved_at_s: float
    # Whose updates they are; 0 in a file from before that was asked
    bot: int = 0
    # The bot that this folder began with
    first_bot: int = 0


class TelegramCursor:
    """Cursor: the offset of the next request; 0 asks for everything unconfirmed."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._file = CursorFile(path, _Kept, "telegram", spaced_json)
        self._clock = clock
        self.offset = 0
        self._bot = self._first_bot = 0
        self._saved_at_s: float | None = None

    @property
    def series(self) -> str:
        """Return what the ids of messages begin with: each bot numbers those of a chat from 1."""
        return "" if self._bot == self._first_bot else f"{self._bot}:"

    async def load(self, bot: int = 0) -> None:
        """Load the cursor; that of another bot is begun anew."""
        kept = await self._file.read() or _Kept(0, 0.0)
        is_ours = kept.bot in {0, bot} and 0 <= self._clock.wall_s() - kept.saved_at_s <= MAX_AGE_S
        self.offset = max(kept.offset, 0) if is_ours else 0
        self._bot, self._first_bot = bot, kept.first_bot or bot

    async def advance(self, offset: int) -> None:
        """Move the cursor: everything below is committed."""
        self.offset = offset
        now_s = self._clock.wall_s()
        if self._saved_at_s is not None and 0 <= now_s - self._saved_at_s < SAVED_EVERY_S:
            return
        self._saved_at_s = now_s
        await self._file.write(_Kept(offset, now_s, self._bot, self._first_bot))

    def confirmed(self) -> None:
        """Record that the platform has forgotten everything below."""
        self.offset = 0
