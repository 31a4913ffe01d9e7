"""Import of memories from a file or folder of any supported agent.

A file may say of its memories who said them and that they are pinned; anybody can write that. They
are trusted at most as far as the caller says, by default like a page, and what is here and trusted
more is never replaced.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path

from agent.errors import MemoryUnavailable
from agent.memory import json_export, openclaw, snapshot, zeroclaw, zeroclaw_brain
from agent.memory.base import EXPORT_TITLE, Catalogued, Memory, MemoryEntry, Scope
from agent.memory.transfer import TransferResult, carry
from agent.messages import Provenance

# More than a hundred thousand memories; no snapshot of a household is larger
MAX_FILE_BYTES = 256 * 1024 * 1024
_PAGE_ENTRIES = 200
# `.af` is an agent file of Letta's
_JSON_SUFFIXES = frozenset({".json", ".af"})

_Found = Iterator[MemoryEntry | None]


async def bring_in(
    memory: Memory, path: Path, scope: Scope, provenance: Provenance = Provenance.WEB
) -> TransferResult:
    """Restore the memories of a snapshot or database of ours or ZeroClaw's, or of an export.

    Known are also OpenClaw's and nanobot's files, and exports of mem0 and Letta.

    Args:
        scope: of memories whose file does not say whose they are.
        provenance: the most that any of them is trusted.

    Raises:
        MemoryUnavailable: it cannot be read, or the store failed; what came before is here.
    """
    try:
        found = await asyncio.to_thread(read, path, scope, provenance)
        here: dict[int, int] = {}
        return await carry(_newer(memory, found, here), memory, here)
    except OSError as err:
        raise MemoryUnavailable(f"{path} cannot be read: {err.strerror}") from err


async def count(path: Path) -> int:
    """Return the number of memories in a file, for a question.

    Raises:
        MemoryUnavailable: it cannot be read.
    """
    try:
        found = await asyncio.to_thread(lambda: list(read(path, Scope(), Provenance.WEB)))
    except OSError as err:
        raise MemoryUnavailable(f"{path} cannot be read: {err.strerror}") from err
    return sum(entry is not None for entry in found)


def read(path: Path, scope: Scope, provenance: Provenance) -> _Found:
    """Return the memories of a file or folder with limited trust; None for unreadable ones."""
    for entry in _read(path, scope, provenance):
        yield entry and entry.trusted_at_most(provenance)


def _read(path: Path, scope: Scope, provenance: Provenance) -> _Found:
    if path.is_dir():
        return _notes(path, scope, provenance)
    if path.stat().st_size > MAX_FILE_BYTES:
        raise MemoryUnavailable(f"{path} is larger than {MAX_FILE_BYTES // 1024**2} MB")
    with path.open("rb") as file:
        if file.read(len(zeroclaw_brain.MAGIC)) == zeroclaw_brain.MAGIC:
            return zeroclaw_brain.parse(path, scope, provenance)
    text = _text(path)
    if text.startswith(snapshot.HEADER.split("\n", 1)[0]):
        return snapshot.parse(text.split("\n"))
    if text.startswith(EXPORT_TITLE):
        raise MemoryUnavailable(
            f"{path} is an export for reading: whose each memory is, and who said it, does not "
            "come back from it. Import MEMORY_SNAPSHOT.md, which `barnacle memory snapshot` "
            "writes; or remove the first line to read the file as notes. Nothing was imported"
        )
    if zeroclaw.TITLE in text[:1000]:
        return zeroclaw.parse(text, scope, provenance)
    is_json = path.suffix in _JSON_SUFFIXES or text.lstrip()[:1] in {"{", "["}
    if is_json and path.name != openclaw.RECORDS:
        return json_export.parse(path, text, scope, provenance)
    return openclaw.parse(path, scope, provenance)


def _text(path: Path) -> str:
    """Return the text of a file; a picture or an archive has none.

    Raises:
        MemoryUnavailable: it is no text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        raise MemoryUnavailable(f"{path} is no text in UTF-8. Nothing was imported") from err
    if "\0" in text:
        raise MemoryUnavailable(f"{path} is no text. Nothing was imported")
    return text


def _notes(folder: Path, scope: Scope, provenance: Provenance) -> _Found:
    files = openclaw.files(folder)
    if not files:
        raise MemoryUnavailable(f"{folder} has neither {openclaw.LASTING} nor day files in memory/")
    return (entry for file in files for entry in openclaw.parse(file, scope, provenance))


async def _newer(
    memory: Memory, found: _Found, here: dict[int, int]
) -> AsyncIterator[MemoryEntry | None]:
    """Yield what is missing, older or less trusted here; note the ids here of all others."""
    while page := await asyncio.to_thread(lambda: list(islice(found, _PAGE_ENTRIES))):
        for entry in page:
            held = None if entry is None else await _held(memory, entry)
            if entry is None or held is None or _replaces(entry, held):
                yield entry
            else:
                here[entry.memory_id] = held.memory_id


def _replaces(entry: MemoryEntry, held: MemoryEntry) -> bool:
    if held.updated_at_s < entry.updated_at_s:
        return held.provenance <= entry.provenance
    # The same words, and somebody vouches for them now
    return held.content == entry.content and held.provenance < entry.provenance


async def _held(memory: Memory, entry: MemoryEntry) -> MemoryEntry | None:
    """Return the memory that this one would replace, also one that a newer statement has closed."""
    if isinstance(memory, Catalogued):
        return next(iter(await memory.doomed(entry.key, entry.scope)), None)
    held = await memory.get(entry.key, entry.scope)
    return held if held is not None and held.scope.owner == entry.scope.owner else None
