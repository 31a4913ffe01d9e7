"""Cursor of events, kept over restarts, for daemons that number them.

Such a daemon keeps the last thousand events for whoever was away. Losing the number only brings
some of them again, which are known by their ids; so it costs no flush of the disk.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile, spaced_json


class _Kept(msgspec.Struct, frozen=True):
    account: str
    after: str


class SignalCursor:
    """Cursor; empty if the daemon has not numbered anything yet."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, _Kept, "signal", spaced_json)
        self._account = ""
        self.after = ""

    async def load(self, account: str) -> None:
        """Load the cursor."""
        if account != self._account:
            self._account = account
            kept = await self._file.read()
            self.after = kept.after if kept is not None and kept.account == account else ""

    async def advance(self, event_id: str) -> None:
        """Move the cursor: everything up to this event is committed."""
        if event_id and event_id != self.after:
            self.after = event_id
            await self._file.write(_Kept(self._account, event_id))
