"""Files of a browser's conversation: kept until they are sent with a message, found to be shown.

Whose a file is says the conversation that it belongs to, which is one browser's alone.
"""

import asyncio
import re
import secrets
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from agent.access.people import BROWSERS
from agent.channels.received_files import ReceivedFiles
from agent.errors import BadArguments, PathRefused
from agent.messages import Attachment
from agent.security.paths import open_beneath
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# Files that wait for their message: of one browser, and of all
MAX_WAITING_OF_ONE = 10
_MAX_WAITING = 60
# Who chose a file and went away has it chosen for so long
WAITING_S = 3600.0
_PIECE_BYTES = 48 * 1024
_REF = re.compile(r"(?P<box>in|out)-(?P<row>[0-9]{1,12})-(?P<at>[0-9]{1,2})")
_IN = "SELECT more FROM inbox WHERE id = ? AND channel = ? AND reply_target = ?"
_OUT = "SELECT files FROM outbox WHERE id = ? AND channel = ? AND recipient = ?"
_GONE = "that file is not there any more"


class _Waiting(Struct, frozen=True):
    """A file that was sent and has no message yet."""

    browser: str
    file: Attachment
    until_s: float


class ConsoleFiles:
    """Files between browsers and their conversations.

    Args:
        folders: those under which a file of a conversation may lie.
    """

    def __init__(
        self,
        received: ReceivedFiles,
        journal: DatabaseWorker,
        folders: tuple[Path, ...],
        clock: Clock,
    ) -> None:
        self._received = received
        self._journal = journal
        self._folders = folders
        self._clock = clock
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        # Pictures of questions, which no message of the journal has
        self._shown: OrderedDict[str, _Waiting] = OrderedDict()

    async def keep(
        self, browser: str, name: str, media_type: str, pieces: AsyncGenerator[bytes, None]
    ) -> str:
        """Store a file; return its name for the message that it will go with.

        Raises:
            BadArguments: it cannot be kept, and why.
            ChannelError: it did not come whole.
        """
        kept = await self._received.keep(pieces, media_type, name)
        if isinstance(kept, str):
            raise BadArguments(kept)
        if not kept.size_bytes:
            raise BadArguments("it is empty")
        number = secrets.token_urlsafe(16)
        self._waiting[number] = _Waiting(browser, kept, self._clock.monotonic_s() + WAITING_S)
        self._let_go(browser)
        return number

    def take(self, browser: str, numbers: tuple[str, ...]) -> tuple[Attachment, ...]:
        """Return the files of that browser with these names, each once."""
        self._let_go(browser)
        found = []
        for number in numbers[:MAX_WAITING_OF_ONE]:
            waiting = self._waiting.get(number)
            if waiting is not None and waiting.browser == browser:
                del self._waiting[number]
                found.append(waiting.file)
        return tuple(found)

    def show(self, browser: str, files: Sequence[Attachment]) -> tuple[str, ...]:
        """Return names by which that browser may fetch the pictures of a question."""
        names = []
        for file in files:
            names.append(f"now-{secrets.token_urlsafe(16)}")
            self._shown[names[-1]] = _Waiting(browser, file, 0.0)
        while len(self._shown) > _MAX_WAITING:
            self._shown.popitem(last=False)
        return tuple(names)

    async def open(self, browser: str, ref: str) -> tuple[Attachment, BinaryIO, int]:
        """Return a file of the browser's own conversation, opened, and its size.

        Raises:
            BadArguments: it has none of that name, or not any more.
        """
        shown = self._shown.get(ref)
        if shown is not None and shown.browser == browser:
            found: Attachment | None = shown.file
        else:
            found = await self._journal.look(partial(_found, browser=browser, ref=ref))
        if found is None:
            raise BadArguments(_GONE)
        return await asyncio.to_thread(_opened, found, self._folders)

    def _let_go(self, browser: str) -> None:
        now_s = self._clock.monotonic_s()
        own = [name for name, one in self._waiting.items() if one.browser == browser]
        late = [name for name, one in self._waiting.items() if one.until_s <= now_s]
        for name in {*late, *own[:-MAX_WAITING_OF_ONE], *list(self._waiting)[:-_MAX_WAITING]}:
            del self._waiting[name]


async def pieces_of(file: BinaryIO, size_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield at most that much of a file, whatever becomes of it meanwhile; close it."""
    left = size_bytes
    try:
        while left and (piece := await asyncio.to_thread(file.read, min(_PIECE_BYTES, left))):
            left -= len(piece)
            yield piece
    finally:
        file.close()


def described(kept: bytes | None, box: str, row: int) -> list[dict[str, Any]]:
    """Return the files of a message of the journal as a page names them."""
    return [
        {
            "ref": f"{box}-{row}-{at}",
            "name": file.name or Path(file.path).name,
            "media_type": file.media_type,
            "size_bytes": file.size_bytes,
        }
        for at, file in enumerate(_files(kept, box))
    ]


def _files(kept: bytes | None, box: str) -> list[Attachment]:
    if kept is None:
        return []
    told = msgspec.json.decode(kept)
    return msgspec.convert(told.get("attachments", []) if box == "in" else told, list[Attachment])


def _found(db: sqlite3.Connection, browser: str, ref: str) -> Attachment | None:
    wanted = _REF.fullmatch(ref)
    if wanted is None:
        return None
    sql = _IN if wanted["box"] == "in" else _OUT
    row = db.execute(sql, (int(wanted["row"]), BROWSERS, browser)).fetchone()
    files = [] if row is None else _files(row[0], wanted["box"])
    at = int(wanted["at"])
    return files[at] if at < len(files) else None


def _opened(found: Attachment, folders: tuple[Path, ...]) -> tuple[Attachment, BinaryIO, int]:
    """Open a file beneath its folder, through no link that anybody has put there."""
    path = Path(found.path)
    for folder in folders:
        if path.is_relative_to(folder):
            try:
                file = open_beneath(folder, str(path.relative_to(folder)))
            except (PathRefused, OSError):
                break
            size_bytes = file.seek(0, 2)
            file.seek(0)
            return found, file, size_bytes
    raise BadArguments(_GONE)
