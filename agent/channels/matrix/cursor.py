"""Cursor in the rooms, kept over restarts; later events are read again.

Without a flush: messages that come again are known by their ids.
"""

import secrets
from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile

# Rooms that cannot be read are few
MAX_TOLD = 200


class _Kept(msgspec.Struct, frozen=True):
    account: str
    after: str
    # Of the messages that go from this folder: another one counts from 1 again
    series: str
    # Encrypted rooms that were told that they cannot be read
    told: list[str]


class MatrixCursor:
    """Cursor of one account; empty before the first sync."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._file = CursorFile(path, _Kept, "matrix")
        self._account = ""
        self.after = ""
        self.series = secrets.token_hex(4)
        self._told: list[str] = []

    async def load(self, account: str) -> None:
        """Load the cursor."""
        if account == self._account:
            return
        self._account = account
        kept = await self._file.read()
        if kept is not None and kept.account == account:
            self.after, self.series, self._told = kept.after, kept.series, kept.told
        else:
            self.after, self._told = "", []
            await self._save()

    async def advance(self, after: str) -> None:
        """Move the cursor: everything before it is committed."""
        if after != self.after:
            self.after = after
            await self._save()

    def was_told(self, room: str) -> bool:
        return room in self._told

    async def tell(self, room: str) -> None:
        self._told = [*self._told[-MAX_TOLD + 1 :], room]
        await self._save()

    async def _save(self) -> None:
        await self._file.write(_Kept(self._account, self.after, self.series, self._told))
