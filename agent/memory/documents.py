"""Index of datasheets and notes, separate from the memories.

Apart from what people said: ten thousand pages can neither bury a memory nor lower the trust of a
turn that did not ask for them. A file is read again only when it has changed, and its pieces go
when it goes.
"""

import asyncio
import hashlib
import itertools
import logging
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import BarnacleError, DocumentUnreadable
from agent.memory.base import PAGE_MARK, Memory, MemoryEntry, Scope
from agent.memory.chunks import (
    DocumentChunk,
    DocumentSection,
    chunks_of,
    markdown_sections,
    page_sections,
)
from agent.memory.pdf import pages_of
from agent.memory.pin_aliases import aliases_in
from agent.messages import Provenance
from agent.storage.files import write_atomic
from agent.system.clock import Clock

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


class Version(Struct, frozen=True):
    """A file as it was seen; another size or time makes another version."""

    size_bytes: int
    changed_at_ns: int


def found_documents(folder: Path) -> dict[str, Version]:
    """Return every document beneath the folder by its relative path; blocks."""
    return dict(islice(_documents(folder), MAX_FILES))


async def chunks_in(path: Path, size_bytes: int, pages: Pages = pages_of) -> list[DocumentChunk]:
    """Return the document in pieces; `pages` reads a PDF.

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


def _cut(sections: Iterable[DocumentSection]) -> list[DocumentChunk]:
    return list(islice(chunks_of(sections), MAX_CHUNKS))


def _sections(path: Path, suffix: str) -> Iterable[DocumentSection]:
    text = _text(path)
    return markdown_sections(text) if suffix in _MARKDOWN else [DocumentSection(text)]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_TEXT_BYTES).decode(errors="replace")
    except OSError as err:
        raise DocumentUnreadable(err.strerror or "it cannot be read") from err


_log = logging.getLogger(__name__)

DOCUMENT = "document"
# How soon a new file is looked at; looking is a few system calls
LOOK_S = 60.0
# Longer paths are cut and told apart by a hash, so that they fit into a key
_MAX_NAME_CHARS = 150
_HASH_CHARS = 8
_ALL = 1_000_000
# As many as one asks about; the rest is left to the datasheets
MAX_PINS_FOUND = 3


class _Known(msgspec.Struct, frozen=True):
    """A file that was read; `trouble` says why it is not in the index."""

    size_bytes: int
    changed_at_ns: int
    chunks: int = 0
    trouble: str = ""


class Refreshed(Struct, frozen=True):
    """Numbers of changed files."""

    indexed: int = 0
    removed: int = 0
    failed: int = 0


class Documents:
    """The folder and its index.

    Args:
        index: keeps the pieces and nothing else.
        state_file: which files it has.
        provenance: how far what stands in the files is trusted.
    """

    def __init__(
        self, folder: Path, index: Memory, state_file: Path, provenance: Provenance, clock: Clock
    ) -> None:
        self._folder = folder
        self._index = index
        self._state_file = state_file
        self._provenance = provenance
        self._clock = clock
        self._known: dict[str, _Known] | None = None
        self.pages: Pages = pages_of

    @property
    def troubles(self) -> dict[str, str]:
        """Reasons why files are not in the index, by path."""
        known = self._known or {}
        return {name: one.trouble for name, one in known.items() if one.trouble}

    async def run(self) -> None:
        """Keep the index in step with the folder until cancelled."""
        while True:
            try:
                await self.refresh()
            except (BarnacleError, OSError) as err:
                _log.warning("documents: indexing postponed (folder=%s): %s", self._folder, err)
            await self._clock.sleep(LOOK_S)

    async def refresh(self) -> Refreshed:
        """Read new and changed files, and remove deleted ones.

        Raises:
            MemoryUnavailable: the index cannot be used now.
            StorageFull: as above.
        """
        there = await asyncio.to_thread(found_documents, self._folder)
        known = await self._known_files()
        gone = [name for name in known if name not in there]
        changed = [name for name in there if _version(known.get(name)) != there[name]]
        for name in gone:
            await self._remove(name, 0)
            del known[name]
            await self._save(known)
        for name in changed:
            known[name] = await self._read(name, there[name])
            await self._save(known)
        failed = sum(bool(known[name].trouble) for name in changed)
        if gone or changed:
            pieces = sum(one.chunks for one in known.values())
            _log.info(
                "documents: indexed (files=%s, pieces=%s)", len(known) - len(self.troubles), pieces
            )
        return Refreshed(len(changed) - failed, len(gone), failed)

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        """Return the best pieces; the source of each is its file and, for a PDF, its page.

        Pins that are called by one of their names come first.
        """
        named = await asyncio.to_thread(self._pins_named, query, min(limit, MAX_PINS_FOUND))
        return [*named, *await self._index.recall(query, limit, Scope())][:limit]

    def _pins_named(self, query: str, limit: int) -> list[MemoryEntry]:
        named = (one for one in aliases_in(self._folder) if one.is_in(query))
        now_s = self._clock.wall_s()
        return [
            MemoryEntry(
                0,
                f"pin-{alias.pin}",
                alias.sentence,
                DOCUMENT,
                self._provenance,
                Scope(),
                now_s,
                now_s,
                score=1.0,
                source=alias.file,
            )
            for alias in itertools.islice(named, limit)
        ]

    async def aclose(self) -> None:
        await self._index.aclose()

    async def _read(self, name: str, version: Version) -> _Known:
        size_bytes, changed_at_ns = version.size_bytes, version.changed_at_ns
        try:
            chunks = await chunks_in(self._folder / name, size_bytes, self.pages)
        except DocumentUnreadable as err:
            _log.warning("documents: file left out (name=%s): %s", name, err)
            await self._remove(name, 0)
            return _Known(size_bytes, changed_at_ns, trouble=str(err))
        for number, chunk in enumerate(chunks):
            await self._index.store(
                _key(name, number),
                chunk.content,
                category=DOCUMENT,
                scope=Scope(session=name),
                provenance=self._provenance,
                source=_source(name, chunk),
            )
        # What an older, longer version had
        await self._remove(name, len(chunks))
        return _Known(size_bytes, changed_at_ns, len(chunks))

    async def _remove(self, name: str, first: int) -> None:
        """Forget the pieces of a file from that number on."""
        kept = {_key(name, number) for number in range(first)}
        held = await self._index.list(Scope(session=name), DOCUMENT, _ALL)
        for entry in held:
            if entry.key not in kept:
                await self._index.forget(entry.key, Scope())

    async def _known_files(self) -> dict[str, _Known]:
        """Return the files in the index; none if its list does not fit the index."""
        if self._known is None:
            known = await asyncio.to_thread(_load, self._state_file)
            # What could not be read may be readable now: something was installed
            known = {name: one for name, one in known.items() if not one.trouble}
            if known and await self._index.count(Scope()) != sum(
                one.chunks for one in known.values()
            ):
                known = {}
            self._known = known
        return self._known

    async def _save(self, known: dict[str, _Known]) -> None:
        content = msgspec.json.encode(known)
        await asyncio.to_thread(write_atomic, self._state_file, content)


def _version(known: _Known | None) -> Version | None:
    return None if known is None else Version(known.size_bytes, known.changed_at_ns)


def _load(path: Path) -> dict[str, _Known]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, _Known])
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def _source(name: str, chunk: DocumentChunk) -> str:
    return f"{name}{PAGE_MARK}{chunk.page}" if chunk.page else name


def _key(name: str, number: int) -> str:
    """Return the key of a piece; it is searchable, and a hash tells long names apart."""
    if len(name) > _MAX_NAME_CHARS:
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH_CHARS]
        name = f"{name[:_MAX_NAME_CHARS]}-{digest}"
    return f"{name} {number + 1}"
