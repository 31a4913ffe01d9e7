"""Headers that an answer repeats, and the thread of each letter; kept on disk: an answer may wait.

Some programs name only the letter that they answer, which is one of ours: its id tells its thread.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.cursor import CursorFile
from agent.channels.email.inbound import MAX_LINE_CHARS, MAX_REFERENCES, ReceivedEmail

# Letters that are still answered in their thread; later ones begin another
MAX_LETTERS = 500
MAX_FILE_BYTES = 4 * 1024 * 1024


# Two threads among those that are kept do not have the same one
_MARK_CHARS = 12
_MARK = re.compile(rf"<barnacle\.[^@<>]{{1,100}}\.t([0-9a-f]{{{_MARK_CHARS}}})@")


class EmailHeaders(msgspec.Struct, frozen=True):
    """Headers of one mail, and the id of the letter that began its thread."""

    subject: Annotated[str, Meta(max_length=MAX_LINE_CHARS)]
    references: Annotated[tuple[str, ...], Meta(max_length=MAX_REFERENCES)]
    thread: str = ""


def thread_mark(thread: str) -> str:
    """Return what an id of ours says of the thread that it is in; empty if it begins one."""
    return f".t{_digest(thread)}" if thread else ""


class EmailThreads:
    """File of headers; its loss costs a subject line, so it is not flushed."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, dict[str, EmailHeaders], "email", max_bytes=MAX_FILE_BYTES)
        self._known: OrderedDict[str, EmailHeaders] | None = None
        self._is_saved = True

    async def note(self, letter: ReceivedEmail, thread: str) -> None:
        known = await self._loaded()
        known[letter.message_id] = EmailHeaders(letter.subject, letter.references, thread)
        while len(known) > MAX_LETTERS:
            known.popitem(last=False)
        self._is_saved = False

    async def save(self) -> None:
        """Write what was noted: many letters at once cost one file."""
        if not self._is_saved:
            self._is_saved = True
            await self._file.write(dict(await self._loaded()))

    async def heading(self, message_id: str) -> EmailHeaders:
        """Return the headers of a mail; empty if it is not known any more."""
        return (await self._loaded()).get(message_id, EmailHeaders("", ()))

    async def thread(self, letter: ReceivedEmail) -> str:
        """Return the id of the mail that began the conversation.

        By the letter that it answers first: programs shorten the list of the others.
        """
        known = await self._loaded()
        for named in reversed(letter.references):
            if named in known:
                return known[named].thread or (*known[named].references, named)[0]
            if mark := _MARK.match(named):
                began = next((one for one in _threads(known) if _digest(one) == mark[1]), "")
                if began:
                    return began
        return (*letter.references, letter.message_id)[0]

    async def _loaded(self) -> OrderedDict[str, EmailHeaders]:
        if self._known is None:
            self._known = OrderedDict(await self._file.read() or {})
        return self._known


def _threads(known: OrderedDict[str, EmailHeaders]) -> Iterator[str]:
    """Yield the threads of the letters, the latest first."""
    for message_id, headers in reversed(known.items()):
        yield headers.thread or (*headers.references, message_id)[0]


def _digest(thread: str) -> str:
    return hashlib.sha256(thread.encode("utf-8", "replace")).hexdigest()[:_MARK_CHARS]
