"""Messages of a platform that stand for unfinished answers, kept over restarts.

Written when that message is there and not again: an answer that is tried again after a cut finds
it, however far the first try came. Without room for it the answer comes as one message more.
"""

import asyncio
import logging
from pathlib import Path

import msgspec

from agent.errors import StorageFull
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

# Of what is tried again after a cut it is the last; a chat, a thread and two ids are some 200 bytes
MAX_KEPT = 64
MAX_FILE_BYTES = 256 * 1024

# The chat, the thread in it, and the message that is answered
Key = tuple[str, str | None, str]
_Row = tuple[str, str | None, str, str]


class Begun:
    """The answers of one channel that were begun in the open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[Key, str] = {}
        # Those of them that are not whole, as far as this run knows
        self._open: dict[Key, str] | None = None
        self._writing = asyncio.Lock()

    async def left(self, key: Key) -> str | None:
        """The message that stands for it; empty where one may that nobody knows."""
        async with self._writing:
            return (await self._read()).get(key)

    async def note(self, key: Key, message_id: str) -> None:
        """That message stands for it from now on; an empty one may from now on.

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
                write = write_atomic if message_id else _write
                await asyncio.to_thread(write, self._path, content)
            except (StorageFull, OSError) as err:
                _log.warning("after a cut an answer may stand twice: %s", err)

    def settle(self, key: Key) -> None:
        """It is whole: what else is said to the same message stands by itself."""
        if self._open is not None:
            self._open.pop(key, None)

    async def _read(self) -> dict[Key, str]:
        if self._open is None:
            self._kept = await asyncio.to_thread(_kept_in, self._path)
            self._open = dict(self._kept)
        return self._open


def _write(path: Path, content: bytes) -> None:
    """Whole, but not flushed."""
    temp = path.with_name(f"{path.name}.part")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temp.write_bytes(content)
    temp.replace(path)


def _kept_in(path: Path) -> dict[Key, str]:
    try:
        with path.open("rb") as file:
            rows = msgspec.json.decode(file.read(MAX_FILE_BYTES), type=list[_Row])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return {(chat, thread, answered): known for chat, thread, answered, known in rows}
