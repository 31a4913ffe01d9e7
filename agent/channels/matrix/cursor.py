"""Cursor in the rooms, kept over restarts; later events are read again.

Invitations that wait are kept with it: the server tells of each once. Without a flush: messages
that come again are known by their ids.
"""

import secrets
from pathlib import Path
from typing import Literal

import msgspec

from agent.channels.cursor import CursorFile

# Rooms that cannot be read are few
MAX_TOLD = 200


class WaitingInvitation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Invitation without an answer.

    Args:
        via: the server that knows a room which takes the place of another; empty for all others.
    """

    room: str
    answer: Literal["join", "leave"]
    via: str = ""


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    account: str
    after: str
    # Of the messages that go from this folder: another one counts from 1 again
    series: str
    # Encrypted rooms that were told that they cannot be read
    told: list[str]
    invitations: list[WaitingInvitation] = []


class MatrixCursor:
    """Cursor of one account; empty before the first sync."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._file = CursorFile(path, _Kept, "matrix")
        self._account = ""
        self.after = ""
        self.series = secrets.token_hex(4)
        self._told: list[str] = []
        # By room, oldest first; saved when the cursor is advanced
        self.invitations: dict[str, WaitingInvitation] = {}
        self._saved: _Kept | None = None

    async def load(self, account: str) -> None:
        """Load the cursor."""
        if account == self._account:
            return
        self._account = account
        kept = self._saved = await self._file.read()
        if kept is not None and kept.account == account:
            self.after, self.series, self._told = kept.after, kept.series, kept.told
            self.invitations = {one.room: one for one in kept.invitations}
        else:
            self.after, self._told, self.invitations = "", [], {}
            await self._save()

    async def advance(self, after: str) -> None:
        """Move the cursor: everything before it is committed, or waits as an invitation."""
        self.after = after
        await self._save()

    def was_told(self, room: str) -> bool:
        return room in self._told

    async def tell(self, room: str) -> None:
        self._told = [*self._told[-MAX_TOLD + 1 :], room]
        await self._save()

    async def _save(self) -> None:
        waiting = list(self.invitations.values())
        kept = _Kept(self._account, self.after, self.series, self._told, waiting)
        # A sync that tells nothing changes nothing
        if kept != self._saved:
            self._saved = kept
            await self._file.write(kept)
