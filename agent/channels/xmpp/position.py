"""Reading position in each archive, kept over restarts; later messages are read again.

Without a flush: messages that come again are known by their ids.
"""

import asyncio
import logging
import secrets
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)

# Our own archive and those of the rooms, with an id each
MAX_FILE_BYTES = 256 * 1024


class Mark(msgspec.Struct, frozen=True):
    """The last message of an archive that was taken, and when that was; empty for none."""

    after: str
    at_s: float


class _Kept(msgspec.Struct, frozen=True):
    account: str
    # Of the messages that go from this folder: another one counts from 1 again
    series: str
    marks: dict[str, Mark]


class Position:
    """Reading position in the archives of one account; its own archive has an empty name."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._path = path
        self._account = ""
        self._marks: dict[str, Mark] = {}
        self.series = secrets.token_hex(4)

    async def load(self, account: str) -> None:
        """Begin where the account was left."""
        if account == self._account:
            return
        self._account = account
        kept = await asyncio.to_thread(self._read)
        if kept is not None and kept.account == account:
            self.series, self._marks = kept.series, kept.marks
        else:
            self._marks = {}
            await asyncio.to_thread(self._write)

    def mark(self, archive: str) -> Mark | None:
        """None of one that was never read."""
        return self._marks.get(archive)

    async def advance(self, archive: str, after: str, at_s: float) -> None:
        """Everything up to it is committed."""
        self._marks[archive] = Mark(after, at_s)
        await asyncio.to_thread(self._write)

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(msgspec.json.encode(_Kept(self._account, self.series, self._marks)))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far XMPP was read is not kept: %s", err.strerror)
