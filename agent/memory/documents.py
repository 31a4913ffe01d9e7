"""Datasheets and notes of a folder, found as memories are, in an index of their own.

Apart from what people said: ten thousand pages can neither bury a memory nor lower the trust of a
turn that did not ask for them. A file is read again only when it has changed, and its pieces go
when it goes.
"""

import asyncio
import hashlib
import itertools
import logging
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.errors import BarnacleError, DocumentUnreadable
from agent.memory import document_files
from agent.memory.base import PAGE_MARK, Memory, MemoryEntry, Scope
from agent.memory.chunks import Chunk
from agent.memory.document_files import Pages, Version
from agent.memory.pdf import pages_of
from agent.memory.pin_aliases import aliases_in
from agent.messages import Provenance
from agent.storage.files import write_atomic

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
    """A file that was read; `trouble` says why nothing of it is in the index."""

    size_bytes: int
    changed_at_ns: int
    chunks: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Changes that a look at the folder found, in files."""

    indexed: int = 0
    removed: int = 0
    failed: int = 0


class Documents:
    """The folder and its index; whoever makes it may have PDFs read by another `pages`.

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
        """Keep the index as the folder is; until cancelled."""
        while True:
            try:
                await self.refresh()
            except (BarnacleError, OSError) as err:
                _log.warning("the documents in %s are not indexed: %s", self._folder, err)
            await self._clock.sleep(LOOK_S)

    async def refresh(self) -> Refreshed:
        """Read what is new or changed, and let go of what is gone.

        Raises:
            MemoryUnavailable: the index cannot be used now.
            StorageFull: as above.
        """
        there = await asyncio.to_thread(document_files.found, self._folder)
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
                "%s documents are indexed in %s pieces", len(known) - len(self.troubles), pieces
            )
        return Refreshed(len(changed) - failed, len(gone), failed)

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        """The pieces that fit best; the source of each is its file and, of a PDF, its page.

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
            chunks = await document_files.chunks_in(self._folder / name, size_bytes, self.pages)
        except DocumentUnreadable as err:
            _log.warning("%s is not in the documents: %s", name, err)
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


def _source(name: str, chunk: Chunk) -> str:
    return f"{name}{PAGE_MARK}{chunk.page}" if chunk.page else name


def _key(name: str, number: int) -> str:
    """The name is searched too; what a long one loses is made up for by a hash."""
    if len(name) > _MAX_NAME_CHARS:
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH_CHARS]
        name = f"{name[:_MAX_NAME_CHARS]}-{digest}"
    return f"{name} {number + 1}"
