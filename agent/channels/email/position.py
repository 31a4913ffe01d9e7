"""How far the mailbox was read, kept over restarts. Letters after it are read again."""

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

_log = logging.getLogger(__name__)

MAX_FILE_BYTES = 4096
_Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class _Kept(msgspec.Struct, frozen=True):
    account: str
    validity: _Number
    uid: _Number


class Position:
    """The last letter that was taken.

    Args:
        account: whose mailbox it is; that of another one is begun anew.
    """

    def __init__(self, path: Path, account: str) -> None:
        self._path = path
        self._account = account
        self._is_loaded = False
        self.is_known = False
        self.validity = 0
        self.uid = 0

    async def load(self) -> None:
        if not self._is_loaded:
            self._is_loaded = True
            kept = await asyncio.to_thread(self._read)
            if kept is not None and kept.account == self._account:
                self.is_known = True
                self.validity, self.uid = kept.validity, kept.uid

    async def advance(self, validity: int, uid: int) -> None:
        """Everything up to this letter is committed."""
        self.is_known = True
        self.validity, self.uid = validity, uid
        await asyncio.to_thread(self._write)

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self) -> None:
        """Without a flush: letters that come again are known by their ids."""
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(msgspec.json.encode(_Kept(self._account, self.validity, self.uid)))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far the mailbox was read is not kept: %s", err.strerror)
