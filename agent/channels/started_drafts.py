"""Record of messages that hold unfinished answers, kept over restarts.

Written when that message is there and not again: an answer that is tried again after a cut finds
it, however far the first try came. Without room for it the answer comes as one message more.
"""

import asyncio
import logging
from pathlib import Path

import msgspec

from agent.errors import StorageFull
from agent.storage.files import replace_unsynced, write_atomic

_log = logging.getLogger(__name__)

# Of what is tried again after a cut it is the last; a chat, a thread and two ids are some 200 bytes
MAX_KEPT = 64
MAX_FILE_BYTES = 256 * 1024

# The chat, the thread in it, and the message that is answered
Key = tuple[str, str | None, str]
_Row = tuple[str, str | None, str, str]


class StartedDrafts:
    """Unfinished answers of one channel."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[Key, str] = {}
        # Those of them that are not whole, as far as this run knows
        self._open: dict[Key, str] | None = None
        self._writing = asyncio.Lock()

    async def left(self, key: Key) -> str | None:
        """Return the message that holds the answer; empty if one may exist unknown."""
        async with self._writing:
            return (await self._read()).get(key)

    async def note(self, key: Key, message_id: str) -> None:
        """Record that this message holds the answer; an empty id means one may soon.

        A power cut may lose the second: it is of use for as long as a request takes.
        """
        async with self._writing:
            (await self._read())[key] = message_id
            self._kept.pop(key, None)
            self._kept[key] = message_id
            while len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            content = msgspec.json.encode([(*row, known) for row, known in self._kept.items()])
            try:
                write = write_atomic if message_id else replace_unsynced
                await asyncio.to_thread(write, self._path, content)
            except (StorageFull, OSError) as err:
                _log.warning(
                    "channels: draft not recorded; after a power cut an answer may stand twice "
                    "(reason=%s)",
                    err,
                )

    def settle(self, key: Key) -> None:
        """Mark the answer as complete: later ones get messages of their own."""
        if self._open is not None:
            self._open.pop(key, None)

    async def _read(self) -> dict[Key, str]:
        if self._open is None:
            self._kept = await asyncio.to_thread(_kept_in, self._path)
            self._open = dict(self._kept)
        return self._open


def _kept_in(path: Path) -> dict[Key, str]:
    try:
        with path.open("rb") as file:
            rows = msgspec.json.decode(file.read(MAX_FILE_BYTES), type=list[_Row])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return {(chat, thread, answered): known for chat, thread, answered, known in rows}
