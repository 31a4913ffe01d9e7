"""Cursor in a Mac's messages, kept over restarts.

A message may be seen a moment after one that came later, so some rows are asked for again, and
known by their ids. Losing the file loses what was written while the agent was away, and no more.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile

# Rows that Messages writes at the same time
OVERLAP_ROWS = 10
# More than stand in that many rows, and in a page
MAX_SEEN = 500


class _Kept(msgspec.Struct):
    """Cursor on disk; messages before `floor_ms` are never answered."""

    server: str
    floor_row: int = 0
    floor_ms: int = 0
    row: int = 0
    seen: list[str] = msgspec.field(default_factory=list)


class ImessageCursor:
    """Cursor; rows and times are the Mac's own."""

    def __init__(self, path: Path, server: str) -> None:
        self._file = CursorFile(path, _Kept, "imessage")
        self._server = server
        self._kept: _Kept | None = None

    async def load(self) -> bool:
        """Load the position; return true if this server was read before."""
        self._kept = self._kept or await self._file.read()
        if self._kept is not None and self._kept.server != self._server:
            self._kept = None
        return self._kept is not None

    async def begin(self, row: int, at_ms: int) -> None:
        """Start after the existing messages: they are not the agent's to answer."""
        self._kept = _Kept(self._server, row, at_ms, row)
        await self.save()

    async def begin_anew(self, row: int, at_ms: int) -> None:
        """Go on in another database of the Mac; what was seen may come there, too."""
        kept = self._kept or _Kept(self._server)
        kept.floor_row = kept.row = row
        kept.floor_ms = max(kept.floor_ms, at_ms)
        await self.save()

    @property
    def after(self) -> int:
        """Return the row to read on from."""
        kept = self._kept
        return max(kept.floor_row, kept.row - OVERLAP_ROWS) if kept is not None else 0

    @property
    def row(self) -> int:
        return self._kept.row if self._kept is not None else 0

    def has_seen(self, guid: str) -> bool:
        return self._kept is not None and guid in self._kept.seen

    def is_old(self, at_ms: int) -> bool:
        """Return true if it is older than the agent; a Mac may receive its history later."""
        return self._kept is not None and at_ms < self._kept.floor_ms

    def note(self, guid: str, row: int) -> None:
        """Record that the message is committed, or not for us."""
        kept = self._kept
        if kept is not None and guid not in kept.seen:
            kept.row = max(kept.row, row)
            kept.seen.append(guid)
            del kept.seen[:-MAX_SEEN]

    async def save(self) -> None:
        if self._kept is not None:
            await self._file.write(self._kept)
