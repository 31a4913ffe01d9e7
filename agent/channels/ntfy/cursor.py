"""Cursor in a topic, kept over restarts.

Losing it only brings messages again that the server still has, which are known by their ids.
"""

import re
from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile, spaced_json

_PLACE = re.compile(r"[-_A-Za-z0-9]{1,64}")


class _Kept(msgspec.Struct, frozen=True):
    topic: str
    since: str


class NtfyCursor:
    """Cursor: an id or a time, as the server takes them; empty at first."""

    def __init__(self, path: Path, topic: str) -> None:
        self._file = CursorFile(path, _Kept, "ntfy", spaced_json)
        self._topic = topic
        self.since = ""

    async def load(self) -> None:
        if self.since:
            return
        kept = await self._file.read()
        if kept is not None and kept.topic == self._topic and _PLACE.fullmatch(kept.since):
            self.since = kept.since

    async def advance(self, since: str) -> None:
        """Move the cursor: everything up to there is committed."""
        self.since = since
        await self._file.write(_Kept(self._topic, since))
