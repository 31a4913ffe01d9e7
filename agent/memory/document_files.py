"""The files of the documents folder, and their text: Markdown, plain text and PDF.

Links are not followed, hidden files are nobody's business, and everything is bounded.
"""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent.errors import DocumentUnreadable
from agent.memory.chunks import Chunk, Section, chunks_of, markdown_sections, page_sections
from agent.memory.pdf import pages_of

MAX_FILES = 2000
# The reference manual of a microcontroller has 20 MB
MAX_PDF_BYTES = 64 * 1024 * 1024
# A thousand pages of plain text
MAX_TEXT_BYTES = 4 * 1024 * 1024
# Of one file: the longest manuals have some 5,000
MAX_CHUNKS = 10_000
_MARKDOWN = frozenset({".md", ".markdown"})
_PLAIN = frozenset({".txt", ".text", ".log", ".csv"})
_PDF = ".pdf"
SUFFIXES = _MARKDOWN | _PLAIN | {_PDF}

# The text of each page of the PDF there; raises DocumentUnreadable
Pages = Callable[[Path], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it was seen; another size or time is another version."""

    size_bytes: int
    changed_at_ns: int


def found(folder: Path) -> dict[str, Version]:
    """Every document in the folder and beneath it, by its path from there; blocks."""
    return dict(islice(_documents(folder), MAX_FILES))


async def chunks_in(path: Path, size_bytes: int, pages: Pages = pages_of) -> list[Chunk]:
    """The document in pieces; `pages` reads a PDF.

    Raises:
        DocumentUnreadable: it cannot be read, or is too large.
    """
    suffix = path.suffix.lower()
    limit = MAX_PDF_BYTES if suffix == _PDF else MAX_TEXT_BYTES
    if size_bytes > limit:
        raise DocumentUnreadable(f"it is larger than {limit // (1024 * 1024)} MB")
    if suffix == _PDF:
        sections = page_sections(await pages(path))
        return await asyncio.to_thread(_cut, sections)
    return await asyncio.to_thread(lambda: _cut(_sections(path, suffix)))


def _documents(folder: Path) -> Iterator[tuple[str, Version]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                continue
            try:
                seen = path.lstat()
            except OSError:
                # Gone since the folder was read
                continue
            if stat.S_ISREG(seen.st_mode):
                yield str(path.relative_to(folder)), Version(seen.st_size, seen.st_mtime_ns)


def _cut(sections: Iterable[Section]) -> list[Chunk]:
    return list(islice(chunks_of(sections), MAX_CHUNKS))


def _sections(path: Path, suffix: str) -> Iterable[Section]:
    text = _text(path)
    return markdown_sections(text) if suffix in _MARKDOWN else [Section(text)]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_TEXT_BYTES).decode(errors="replace")
    except OSError as err:
        raise DocumentUnreadable(err.strerror or "it cannot be read") from err
