"""Cursor in the posts of a server, kept over restarts.

Posts of one moment may come in any order, so what is a little older is asked for again, and known
by its id. Losing the file loses what was written while the agent was away, and no more.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile

# Posts of one server differ by less in when they come
OVERLAP_MS = 10_000
# More than anybody writes in that time
MAX_SEEN = 500


class _Kept(msgspec.Struct):
    """Cursor on disk; posts before `floor_ms` are never answered."""

    account: str
    floor_ms: int = 0
    at_ms: int = 0
    seen: dict[str, int] = msgspec.field(default_factory=dict)


class MattermostCursor:
    """Cursor; times are the server's own, in milliseconds."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, _Kept, "mattermost")
        self._kept: _Kept | None = None

    async def load(self, account: str) -> bool:
        """Load the position; return true if this account was read before."""
        if self._kept is None:
            self._kept = await self._file.read()
        if self._kept is not None and self._kept.account != account:
            self._kept = None
        return self._kept is not None

    async def begin(self, account: str, at_ms: int) -> None:
        """Start after the existing posts: they are not the agent's to answer."""
        self._kept = _Kept(account, at_ms, at_ms)
        await self.save()

    @property
    def since_ms(self) -> int:
        """Return the time to read on from."""
        kept = self._kept
        return max(kept.floor_ms, kept.at_ms - OVERLAP_MS) if kept is not None else 0

    def has_seen(self, post_id: str) -> bool:
        return self._kept is not None and post_id in self._kept.seen

    def note(self, post_id: str, at_ms: int) -> None:
        """Record that the post is committed, or not for us."""
        kept = self._kept
        if kept is None:
            return
        kept.at_ms = max(kept.at_ms, at_ms)
        kept.seen[post_id] = at_ms
        if len(kept.seen) > MAX_SEEN:
            del kept.seen[next(iter(kept.seen))]

    def note_ahead(self, post_id: str) -> None:
        """Record a post out of turn: earlier ones are still to be read."""
        self.note(post_id, 0)

    async def save(self) -> None:
        if self._kept is not None:
            await self._file.write(self._kept)
