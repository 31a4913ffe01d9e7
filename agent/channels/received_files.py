"""Store of received files, under names of our own in one folder.

A name from outside is only shown. No file is larger than a limit, all together are bounded, and
the oldest go first; what is there was flushed before the message that speaks of it is.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from agent.errors import StorageFull
from agent.messages import Attachment, Inbound
from agent.storage.files import sync_folder
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# What the platforms hand out at most, or close to it
MAX_FILE_BYTES = 20 * 1024 * 1024
# Twelve of the largest, hundreds of pictures from a telephone
MAX_FOLDER_BYTES = 256 * 1024 * 1024
MAX_FILES = 2000
# Below this the agent's own databases come first
MIN_FREE_BYTES = 100 * 1024 * 1024
MAX_NAME_CHARS = 80
_PART = ".part"
# By what it is said to be; a suffix from outside could make a program of it. Services of speech go
# by it, and a Mac calls its voice messages `audio/mp3`
_SUFFIXES = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp3": ".mp3",
    "audio/mp4": ".m4a",
    "audio/m4a": ".m4a",
    "audio/x-m4a": ".m4a",
    "audio/webm": ".webm",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "video/mp4": ".mp4",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "text/plain": ".txt",
    "text/csv": ".csv",
    "text/markdown": ".md",
}


# Whether the files of a message are kept: those of strangers are not
Knows = Callable[[Inbound], bool]


def too_large(size_bytes: int) -> str:
    """Return the reason not to keep a file of this size; empty if it may be kept."""
    if size_bytes <= MAX_FILE_BYTES:
        return ""
    return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"


class ReceivedFiles:
    """Folder of received files.

    Args:
        max_folder_bytes: of all files together; smaller in tests.
    """

    def __init__(self, folder: Path, max_folder_bytes: int = MAX_FOLDER_BYTES) -> None:
        self._folder = folder
        self._max_folder_bytes = max_folder_bytes

    async def keep(
        self, pieces: AsyncGenerator[bytes, None], media_type: str, name: str = ""
    ) -> Attachment | str:
        """Store a file, or return the reason why not.

        Whatever `pieces` raises passes through, and nothing is left behind.
        """
        kind = media_type.partition(";")[0].strip().lower()
        path = self._folder / _new_name(kind)
        part = path.with_name(path.name + _PART)
        try:
            size = await self._write(part, pieces)
            if reason := too_large(size):
                return reason
            await asyncio.to_thread(self._settle, part, path)
        except StorageFull as err:
            return str(err)
        except OSError as err:
            return f"it cannot be kept: {err.strerror}"
        finally:
            await asyncio.to_thread(_remove, part)
        return Attachment(str(path), kind, printable_line(name, MAX_NAME_CHARS), size)

    async def _write(self, part: Path, pieces: AsyncGenerator[bytes, None]) -> int:
        """Write the pieces and return their size, up to just above the limit."""
        handle = await asyncio.to_thread(self._open, part)
        size = 0
        try:
            # What is not read to its end lets go of its connection at once
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    size += len(piece)
                    if size > MAX_FILE_BYTES:
                        return size
                    await asyncio.to_thread(_write_all, handle, piece)
            await asyncio.to_thread(os.fsync, handle)
        finally:
            os.close(handle)
        return size

    def _open(self, part: Path) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room()
        if shutil.disk_usage(self._folder).free < MIN_FREE_BYTES + MAX_FILE_BYTES:
            raise StorageFull("too little free space on this device for the file")
        return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def _settle(self, part: Path, path: Path) -> None:
        part.replace(path)
        sync_folder(self._folder)

    def _make_room(self) -> None:
        """Remove the oldest until one more file of the largest size fits."""
        with os.scandir(self._folder) as entries:
            found = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        found.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
        used, kept = MAX_FILE_BYTES, 1
        for told, path in found:
            used += told.st_size
            kept += 1
            if used > self._max_folder_bytes or kept > MAX_FILES:
                _log.info("channels: received file removed to make room (path=%s)", path)
                Path(path).unlink(missing_ok=True)


def _new_name(kind: str) -> str:
    """Return a name that sorts by time and cannot be guessed."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-{secrets.token_hex(6)}{_SUFFIXES.get(kind, '.bin')}"


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _write_all(handle: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(handle, rest) :]
