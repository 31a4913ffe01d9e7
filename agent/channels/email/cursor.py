"""Cursor in the mailbox, kept over restarts; later mails are read again."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.cursor import CursorFile

_Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class _Kept(msgspec.Struct, frozen=True):
    account: str
    validity: _Number
    uid: _Number


class EmailCursor:
    """Last mail that was accepted.

    Args:
        account: whose mailbox it is; that of another one is begun anew.
    """

    def __init__(self, path: Path, account: str) -> None:
        self._file = CursorFile(path, _Kept, "email")
        self._account = account
        self._is_loaded = False
        self.is_known = False
        self.validity = 0
        self.uid = 0

    async def load(self) -> None:
        if not self._is_loaded:
            self._is_loaded = True
            kept = await self._file.read()
            if kept is not None and kept.account == self._account:
                self.is_known = True
                self.validity, self.uid = kept.validity, kept.uid

    async def advance(self, validity: int, uid: int) -> None:
        """Move the cursor: every mail up to this one is committed."""
        self.is_known = True
        self.validity, self.uid = validity, uid
        await self._file.write(_Kept(self._account, validity, uid))
