"""Headers that an answer repeats; kept on disk, since an answer may wait."""

from collections import OrderedDict
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.cursor import CursorFile
from agent.channels.email.inbound import MAX_LINE_CHARS, MAX_REFERENCES, ReceivedEmail

# Letters that are still answered in their thread; later ones begin another
MAX_LETTERS = 500
MAX_FILE_BYTES = 4 * 1024 * 1024


class EmailHeaders(msgspec.Struct, frozen=True):
    """Headers of one mail."""

    subject: Annotated[str, Meta(max_length=MAX_LINE_CHARS)]
    references: Annotated[tuple[str, ...], Meta(max_length=MAX_REFERENCES)]


class EmailThreads:
    """File of headers; its loss costs a subject line, so it is not flushed."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, dict[str, EmailHeaders], "email", max_bytes=MAX_FILE_BYTES)
        self._known: OrderedDict[str, EmailHeaders] | None = None

    async def note(self, letter: ReceivedEmail) -> None:
        known = await self._loaded()
        known[letter.message_id] = EmailHeaders(letter.subject, letter.references)
        while len(known) > MAX_LETTERS:
            known.popitem(last=False)
        await self._file.write(dict(known))

    async def heading(self, message_id: str) -> EmailHeaders:
        """Return the headers of a mail; empty if it is not known any more."""
        return (await self._loaded()).get(message_id, EmailHeaders("", ()))

    async def _loaded(self) -> OrderedDict[str, EmailHeaders]:
        if self._known is None:
            self._known = OrderedDict(await self._file.read() or {})
        return self._known
