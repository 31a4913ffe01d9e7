"""Reading position in a Mac's messages, kept over restarts.

A message may be seen a moment after one that came later, so some rows are asked for again, and
known by their ids. Losing the file loses what was written while the agent was away, and no more.
"""

import asyncio
import logging
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)

# Rows that Messages writes at the same time
OVERLAP_ROWS = 10
# More than stand in that many rows, and in a page
MAX_SEEN = 500


class _Kept(msgspec.Struct):
    """`floor_ms`: what was written until then is nobody's order, whenever the Mac has it."""

    server: str
    floor_row: int = 0
    floor_ms: int = 0
    row: int = 0
    seen: list[str] = msgspec.field(default_factory=list)


class Position:
    """Rows and times are the Mac's own."""

    def __init__(self, path: Path, server: str) -> None:
        self._path = path
        self._server = server
        self._kept: _Kept | None = None

    async def load(self) -> bool:
        """Load the position; return true if this server was read before."""
        self._kept = self._kept or await asyncio.to_thread(self._read)
        if self._kept is not None and self._kept.server != self._server:
            self._kept = None
        return self._kept is not None

    async def begin(self, row: int, at_ms: int) -> None:
        """Start after the existing messages: they are not the agent's to answer."""
        self._kept = _Kept(self._server, row, at_ms, row)
        await self.save()

    @property
    def after(self) -> int:
        """The row after which messages are to be looked at."""
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
        """It is committed, or nobody's order."""
        kept = self._kept
        if kept is not None and guid not in kept.seen:
            kept.row = max(kept.row, row)
            kept.seen.append(guid)
            del kept.seen[:-MAX_SEEN]

    async def save(self) -> None:
        if self._kept is not None:
            await asyncio.to_thread(self._write, msgspec.json.encode(self._kept))

    def _read(self) -> _Kept | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError):
            return None

    def _write(self, content: bytes) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(content)
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far iMessage was read is not kept: %s", err.strerror)
