"""A session with a gateway, kept over restarts: what was said meanwhile is then said again.

Losing it loses what was written while nobody listened; a session of another bot is none of ours.
"""

import asyncio
import logging
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)

# Five words
MAX_FILE_BYTES = 64 * 1024


class Begun(msgspec.Struct):
    """Session of a gateway, with the committed position in it.

    Args:
        url: where it is to be taken up; empty where that is the gateway's own address.
        me: the bot's id.
    """

    account: str
    session_id: str
    me: str
    url: str = ""
    seq: int = 0


class Session:
    """`begun` is None where it has to begin anew.

    Args:
        account: which bot it is of, and what that bot hears.
    """

    def __init__(self, path: Path, account: str) -> None:
        self._path = path
        self.account = account
        self.begun: Begun | None = None

    async def load(self) -> None:
        """Once: what this process knows is newer."""
        if self.begun is None:
            self.begun = await asyncio.to_thread(self._read)

    async def save(self) -> None:
        await asyncio.to_thread(self._write)

    async def forget(self) -> None:
        """The gateway has."""
        self.begun = None
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    def _read(self) -> Begun | None:
        try:
            with self._path.open("rb") as file:
                begun = msgspec.json.decode(file.read(MAX_FILE_BYTES), type=Begun)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return begun if begun.account == self.account else None

    def _write(self) -> None:
        if self.begun is None:
            return
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(msgspec.json.encode(self.begun))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("%s is not kept: %s", self._path.name, err.strerror)
