"""Chunks of a document: cut at headings, then by length.

A piece carries the headings above it, and overlaps the one before, so that a sentence on a border
is whole in one of them. Nothing here knows files or memories.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

# As long as a memory in a prompt may be, less its headings
CHUNK_CHARS = 700
# Two sentences: what refers to the one before keeps its meaning
OVERLAP_CHARS = 120
# Of the headings above a piece
MAX_HEADING_CHARS = 160
# A border in the last part of a piece is worth a shorter piece
_SOFT_CHARS = CHUNK_CHARS // 2
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*\Z")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
# Best borders first: between paragraphs, lines, sentences, words
_BORDERS = ("\n\n", "\n", ". ", "。", " ")
_SPACES = re.compile(r"[ \t\f\v\u00a0]+")
_EMPTY_LINES = re.compile(r"\n{3,}")


class DocumentSection(Struct, frozen=True):
    """Text under one heading or on one page; `page` counts from 1, 0 is none."""

    text: str
    heading: str = ""
    page: int = 0


class DocumentChunk(Struct, frozen=True):
    """A piece of a section."""

    text: str
    heading: str = ""
    page: int = 0

    @property
    def content(self) -> str:
        """Text that is searched and shown."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text


def markdown_sections(text: str) -> Iterator[DocumentSection]:
    """Yield a section for each heading, with its parent headings; skip `#` in fenced blocks."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    is_fenced = False
    for line in text.splitlines():
        is_fenced ^= bool(_FENCE.match(line))
        found = None if is_fenced else _HEADING.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        yield DocumentSection("\n".join(lines), _joined(path))
        level, lines = len(found[1]), []
        path = [(depth, title) for depth, title in path if depth < level]
        path.append((level, found[2]))
    yield DocumentSection("\n".join(lines), _joined(path))


def page_sections(pages: Iterable[str]) -> Iterator[DocumentSection]:
    """Yield a section for each page, numbered from 1."""
    for number, text in enumerate(pages, start=1):
        yield DocumentSection(text, page=number)


def chunks_of(sections: Iterable[DocumentSection]) -> Iterator[DocumentChunk]:
    """Yield the sections in pieces; skip those without a word."""
    for section in sections:
        for text in pieces(section.text):
            yield DocumentChunk(text, section.heading, section.page)


def pieces(text: str) -> Iterator[str]:
    """Yield overlapping pieces of at most `CHUNK_CHARS`, cut at the best border."""
    text = _EMPTY_LINES.sub("\n\n", _SPACES.sub(" ", text)).strip()
    start = 0
    while start < len(text):
        end = _end_of_piece(text, start)
        piece = text[start:end].strip()
        if any(char.isalnum() for char in piece):
            yield piece
        if end == len(text):
            return
        start = _start_of_next(text, start, end)


def _end_of_piece(text: str, start: int) -> int:
    end = start + CHUNK_CHARS
    if end >= len(text):
        return len(text)
    for border in _BORDERS:
        place = text.rfind(border, start + _SOFT_CHARS, end)
        if place >= 0:
            return place + len(border)
    return end


def _start_of_next(text: str, start: int, end: int) -> int:
    """Return a word border a little before the end of the last piece."""
    place = text.find(" ", end - OVERLAP_CHARS, end)
    return max(start + 1, place + 1 if place >= 0 else end - OVERLAP_CHARS)


def _joined(path: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in path)[:MAX_HEADING_CHARS]
