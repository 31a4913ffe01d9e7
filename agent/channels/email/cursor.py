"""Cursor in the mailbox, kept over restarts; later mails are read again."""

import asyncio
import secrets
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.cursor import CursorFile
from agent.channels.email.batches import LostLetters

_Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class _Kept(msgspec.Struct, frozen=True):
    account: str
    validity: _Number
    uid: _Number
    series: str = ""
    # As earlier versions wrote it: the one that is set
    folder: str = ""


class EmailCursor:
    """Last mail that was accepted.

    Args:
        account: whose mailbox it is; that of another one is begun anew, and so is another folder.
    """

    def __init__(self, path: Path, account: str, folder: str = "INBOX") -> None:
        self._file = CursorFile(path, _Kept, "email")
        self._account = account
        self._folder = folder
        self._is_loaded = False
        self._loading = asyncio.Lock()
        self.is_known = False
        self.validity = 0
        self.uid = 0
        # After it; not kept, for the next run may have better luck
        self.lost = LostLetters()
        # Of the letters that go from this folder: another one counts from 1 again
        self.series = secrets.token_hex(4)

    async def load(self) -> None:
        async with self._loading:
            if not self._is_loaded:
                await self._load()
                self._is_loaded = True

    async def advance(self, validity: int, uid: int) -> None:
        """Move the cursor: every mail up to this one is committed."""
        self.is_known = True
        self.validity, self.uid = validity, uid
        await self._file.write(_Kept(self._account, validity, uid, self.series, self._folder))

    async def _load(self) -> None:
        kept = await self._file.read()
        if kept is None or kept.account != self._account:
            return
        self.series = kept.series or self.series
        if kept.folder not in {"", self._folder}:
            return
        if kept.series:
            self.is_known, self.validity, self.uid = True, kept.validity, kept.uid
        else:
            await self.advance(kept.validity, kept.uid)
