"""Pages of a file that is no plain text, and of a text or table that is long.

A page of a text fits in one message. Of a table each page begins with the heading; of a picture
there is one, with its format and size; of a recording one, with the words that were said.
"""

import codecs
import mimetypes
from collections.abc import Awaitable, Callable, Mapping
from typing import BinaryIO

from msgspec import Struct

from agent.errors import PathRefused
from agent.messages import Attachment
from agent.tools.picture_header import NoPicture, header_of

# Of a text: what most platforms take in one message, and what somebody reads at once
PAGE_LINES = 60
PAGE_BYTES = 3500
# To reach a late page everything before it is read: a few seconds of a slow card
MAX_SCANNED_BYTES = 64 * 1024 * 1024
_TABLES = (".csv", ".tsv")
_PROBE_BYTES = 8192
_DECODER = codecs.getincrementaldecoder("utf-8")

# The words of a recording, or an empty text and the reason
Transcribe = Callable[[Attachment], Awaitable[tuple[str, str]]]
NOT_HEARD = "no speech service is configured that writes recordings down: see [channels.speech]"


class FilePage(Struct, frozen=True):
    """One page of a file."""

    text: str
    page: int
    pages: int

    @property
    def as_fields(self) -> Mapping[str, object]:
        more = self.page < self.pages
        return {"text": self.text, "page": self.page, "pages": self.pages, "more": more}


def page_of_text(file: BinaryIO, path: str, number: int) -> FilePage:
    """Return a page of an open text or table.

    Raises:
        PathRefused: it is no text, is too long, or has no such page.
    """
    if b"\0" in file.read(_PROBE_BYTES):
        raise PathRefused(f"{path} is no text, PDF, picture or recording: it cannot be read here")
    file.seek(0)
    kept, heading, pages, lines, size, scanned = list[bytes](), b"", 1, 0, 0, 0
    while piece := _piece_of(file):
        if not scanned and path.lower().endswith(_TABLES):
            heading = piece
        if lines and (lines >= PAGE_LINES or size + len(piece) > PAGE_BYTES):
            pages, lines, size = pages + 1, 0, 0
        lines, size, scanned = lines + 1, size + len(piece), scanned + len(piece)
        if pages == number:
            kept.append(piece)
        if scanned > MAX_SCANNED_BYTES:
            raise PathRefused(f"{path} is too long to be read by pages")
    refuse_beyond(number, pages, path)
    shown = heading * (number > 1) + b"".join(kept)
    return FilePage(shown.decode("utf-8", "replace"), number, pages)


def _piece_of(file: BinaryIO) -> bytes:
    """Return a line, or as many whole characters of it as one page has room for."""
    piece = file.readline(PAGE_BYTES)
    if len(piece) == PAGE_BYTES and not piece.endswith(b"\n"):
        decoder = _DECODER("replace")
        decoder.decode(piece)
        # What the limit cut in two belongs to the next piece
        cut_bytes = len(decoder.getstate()[0])
        file.seek(-cut_bytes, 1)
        return piece[: PAGE_BYTES - cut_bytes]
    return piece


def refuse_beyond(number: int, pages: int, path: str) -> None:
    """Raise PathRefused if a file has no such page."""
    if number > pages:
        have = "one page" if pages == 1 else f"{pages} pages"
        raise PathRefused(f"{path} has {have}: there is no page {number}")


def media_type_of(path: str) -> str:
    return mimetypes.guess_type(path)[0] or ""


def picture_of(file: BinaryIO) -> FilePage | None:
    """Return what is known of an open picture; None if it is none."""
    try:
        header = header_of(file)
    except NoPicture:
        return None
    size_kb = max(1, file.seek(0, 2) // 1000)
    told = f"a {header.kind.upper()} picture, {header.width} x {header.height} pixels, {size_kb} kB"
    return FilePage(f"({told}; a model that sees pictures is shown it with its message)", 1, 1)


async def words_of(file: BinaryIO, path: str, transcribe: Transcribe | None) -> FilePage:
    """Return the words of an open recording.

    Raises:
        PathRefused: with the reason.
    """
    if transcribe is None:
        raise PathRefused(f"{path} is a recording, and {NOT_HEARD}")
    # The file that was opened, wherever its path leads by now
    place = f"/proc/self/fd/{file.fileno()}"
    size_bytes = file.seek(0, 2)
    name = path.rpartition("/")[2]
    words, trouble = await transcribe(Attachment(place, media_type_of(path), name, size_bytes))
    if not words:
        raise PathRefused(f"{path} is a recording that was not written down: {trouble}")
    return FilePage(words, 1, 1)
