"""File of a cursor: one value of a channel that outlives a restart.

It is replaced whole and not flushed: after a power cut the old value may be back, and what comes
again is known by its ids.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from agent.storage.files import replace_unsynced

_log = logging.getLogger(__name__)

# Many times what any cursor takes; more is no file of ours
MAX_FILE_BYTES = 256 * 1024
T = TypeVar("T")


def spaced_json(value: object) -> bytes:
    """Encode as `json.dumps` does, for files that have always had its spaces."""
    return json.dumps(msgspec.to_builtins(value)).encode()


class CursorFile(Generic[T]):
    """One value of type `kind` in one file.

    Args:
        channel: named in log lines.
        encode: turns the value into the file's bytes.
        max_bytes: a longer file is not read.
    """

    def __init__(
        self,
        path: Path,
        kind: type[T],
        channel: str,
        encode: Callable[[T], bytes] = msgspec.json.encode,
        max_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._path = path
        self._kind = kind
        self._channel = channel
        self._encode = encode
        self._max_bytes = max_bytes
        # Values are written in the order in which they were given
        self._writing = asyncio.Lock()

    async def read(self) -> T | None:
        """Return the value; None if there is no file, or none that can be read."""
        return await asyncio.to_thread(self._read)

    async def write(self, value: T) -> None:
        """Replace the value; a failure is logged, and the channel goes on without."""
        # Here and not in the thread: the value may change as soon as others run
        content = self._encode(value)
        async with self._writing:
            await asyncio.to_thread(self._write, content)

    async def remove(self) -> None:
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    def _read(self) -> T | None:
        try:
            with self._path.open("rb") as file:
                # A longer file is cut, and so no JSON
                return msgspec.json.decode(file.read(self._max_bytes), type=self._kind)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _write(self, content: bytes) -> None:
        try:
            replace_unsynced(self._path, content)
        except OSError as err:
            _log.warning(
                "%s: cursor not saved (file=%s, reason=%s)",
                self._channel,
                self._path.name,
                err.strerror,
            )
