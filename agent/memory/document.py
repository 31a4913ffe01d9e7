"""Long-term memory in one JSON file through TinyDB, for tiny installs and for inspection.

The whole file is rewritten at each change, crash-safe: right for hundreds of memories, and it
says so when they become more.
"""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.embeddings.base import Embedder
from agent.errors import StorageCorrupt
from agent.memory.base import CORE, MemoryEntry, StoreLimits, Tidied
from agent.memory.keys import key_of
from agent.memory.mirror import MirroredMemory
from agent.memory.record import NAMES, entry_of, row_of
from agent.messages import Provenance
from agent.storage.documents import open_documents
from agent.storage.lock import held
from agent.system.clock import Clock

if TYPE_CHECKING:
    from tinydb import TinyDB

_log = logging.getLogger(__name__)

# 0.24 MB and 16 ms for each change; ten times as many take 2.3 MB and 170 ms
MANY_MEMORIES = 1_000
_TABLE = "memories"
_DEFAULTS: dict[str, object] = {
    "category": CORE,
    "content": "",
    "source": "",
    "provenance": Provenance.WEB.name,
}


class DocumentMemory(MirroredMemory):
    """Memories as JSON documents."""

    name = "document"

    def __init__(self, path: Path, embedder: Embedder, clock: Clock) -> None:
        super().__init__(DocumentKeeper(path), embedder, clock)

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        return await self._changing(lambda index: index.tidy(limits, now_s))


class DocumentKeeper:
    """The file; created with the first memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: TinyDB | None = None
        self._was_told = False

    def lock(self) -> ExitStack:
        return held(self._path)

    def stamp(self) -> object:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def load(self) -> Sequence[MemoryEntry]:
        documents = self._read(self._documents().storage.read() or {})
        return [entry_of(_row(number, fields)) for number, fields in documents.items()]

    def keep(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        # All changes in one write: TinyDB's own methods write for each
        storage = self._documents().storage
        tables = storage.read() or {}
        documents = self._read(tables)
        for entry in gone:
            documents.pop(str(entry.memory_id), None)
        for entry in changed:
            documents[str(entry.memory_id)] = row_of(entry)
        storage.write({**tables, _TABLE: documents})
        if len(documents) > MANY_MEMORIES and not self._was_told:
            self._was_told = True
            _log.warning("memory: %s", _advice(len(documents)))

    def survey(self) -> tuple[int, dict[str, str]]:
        details = {"file": str(self._path)}
        if (number := len(self._read(self._documents().storage.read() or {}))) > MANY_MEMORIES:
            details["advice"] = _advice(number)
        set_aside = self._path.with_name(f"{self._path.name}.corrupt")
        if set_aside.exists():
            details["damage"] = f"{set_aside} was damaged and set aside: check its content"
        return (self._path.stat().st_size if self._path.exists() else 0), details

    def _read(self, tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, object]]:
        documents = tables.get(_TABLE, {})
        if not isinstance(documents, dict) or not all(
            number.isdecimal() and isinstance(fields, dict) for number, fields in documents.items()
        ):
            raise StorageCorrupt(f"{self._path} contains other things than memories: check it")
        return dict(documents)

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        return self._opened


def _row(number: str, fields: dict[str, object]) -> list[object]:
    """Return the columns of a memory; an edited one gets defaults for missing fields."""
    told = {**_DEFAULTS, **{name: value for name, value in fields.items() if value is not None}}
    told["key"] = told.get("key") or key_of(str(told["content"]))
    return [int(number) if name == "id" else told.get(name) for name in NAMES]


def _advice(number: int) -> str:
    return (
        f"{number} memories are too many for one JSON file, which is rewritten at each change: "
        "run `barnacle memory migrate --from document --to sqlite`"
    )
