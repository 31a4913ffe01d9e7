"""Reading position in the rooms, kept over restarts; later events are read again.

Without a flush: messages that come again are known by their ids.
"""

import asyncio
import logging
import secrets
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)

# Tokens are some dozens of characters; rooms that cannot be read are few
MAX_FILE_BYTES = 64 * 1024
MAX_TOLD = 200


class _Kept(msgspec.Struct, frozen=True):
    account: str
    after: str
    # Of the messages that go from this folder: another one counts from 1 again
    series: str
    # Encrypted rooms that were told that they cannot be read
    told: list[str]


class Position:
    """Reading position of one account; empty before the first sync."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._path = path
        self._account = ""
        self.after = ""
        self.series = secrets.token_hex(4)
        self._told: list[str] = []

    async def load(self, account: str) -> None:
        """Begin where the account was left."""
        if account == self._account:
            return
        self._account = account
        kept = await asyncio.to_thread(self._read)
        if kept is not None and kept.account == account:
            self.after, self.series, self._told = kept.after, kept.series, kept.told
        else:
            self.after, self._told = "", []
            await asyncio.to_thread(self._write)

    async def advance(self, after: str) -> None:
        """Everything before it is committed."""
        if after != self.after:
            self.after = after
            await asyncio.to_thread(self._write)

    def was_told(self, room: str) -> bool:
        return room in self._told

    async def tell(self, room: str) -> None:
        self._told = [*self._told[-MAX_TOLD + 1 :], room]
        await asyncio.to_thread(self._write)

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        kept = _Kept(self._account, self.after, self.series, self._told)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(msgspec.json.encode(kept))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far Matrix was read is not kept: %s", err.strerror)
