"""Cursor in each archive, kept over restarts; later messages are read again.

Without a flush: messages that come again are known by their ids.
"""

import secrets
from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile


class XmppMark(msgspec.Struct, frozen=True):
    """Last accepted message of an archive and its time; empty for none."""

    after: str
    at_s: float


class _Kept(msgspec.Struct, frozen=True):
    account: str
    # Of the messages that go from this folder: another one counts from 1 again
    series: str
    marks: dict[str, XmppMark]


class XmppCursor:
    """Cursors of one account; its own archive has an empty name."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._file = CursorFile(path, _Kept, "xmpp")
        self._account = ""
        self._marks: dict[str, XmppMark] = {}
        self.series = secrets.token_hex(4)

    async def load(self, account: str) -> None:
        """Load the cursors."""
        if account == self._account:
            return
        self._account = account
        kept = await self._file.read()
        if kept is not None and kept.account == account:
            self.series, self._marks = kept.series, kept.marks
        else:
            self._marks = {}
            await self._save()

    def mark(self, archive: str) -> XmppMark | None:
        """Return the mark of an archive; None if it was never read."""
        return self._marks.get(archive)

    async def advance(self, archive: str, after: str, at_s: float) -> None:
        """Move the cursor: everything up to it is committed."""
        self._marks[archive] = XmppMark(after, at_s)
        await self._save()

    async def _save(self) -> None:
        await self._file.write(_Kept(self._account, self.series, self._marks))
