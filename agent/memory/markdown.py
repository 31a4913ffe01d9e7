"""Long-term memory in Markdown that only grows: a log that people read, edit and keep in Git.

Core memories are in `MEMORY.md`, the others in `memory/<day>.md`. What is said again under the
same key is appended and wins; nothing is ever taken out, so `forget` is False.
"""

import os
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from agent.clock import Clock
from agent.embeddings.base import Embedder
from agent.memory.base import CORE, DAILY, MemoryEntry, Scope
from agent.memory.markdown_text import CUT_OFF, Page, parse, render
from agent.memory.mirror import MirroredMemory
from agent.storage.files import sync_folder

_CORE_FILE = "MEMORY.md"
_DAYS = "memory"
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md"


class MarkdownMemory(MirroredMemory):
    """Memories as lines of text."""

    name = "markdown"

    def __init__(self, folder: Path, embedder: Embedder, clock: Clock) -> None:
        super().__init__(MarkdownKeeper(folder), embedder, clock)

    async def forget(self, key: str, scope: Scope) -> bool:
        """Nothing is taken out of a log."""
        return False

    async def forget_source(self, source: str, scope: Scope) -> int:
        """As `forget`."""
        return 0


class MarkdownKeeper:
    """The files in one folder; none is made before there is a memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stamp(self) -> object:
        found = [(path, path.stat()) for path in self._files()]
        return [(path.name, at.st_mtime_ns, at.st_size, at.st_ino) for path, at in found]

    def load(self) -> Sequence[MemoryEntry]:
        newest: dict[tuple[str, str], MemoryEntry] = {}
        for path in self._files():
            for entry in parse(_text(path), _page(path)):
                known = newest.get((entry.scope.owner, entry.key))
                if known is None or entry.updated_at_s >= known.updated_at_s:
                    newest[entry.scope.owner, entry.key] = entry
        # Those that were written by hand have no number and take what is left
        return sorted(newest.values(), key=lambda entry: (entry.memory_id <= 0, entry.memory_id))

    def keep(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        by_file = sorted(changed, key=lambda entry: str(self._file(entry)))
        for path, entries in groupby(by_file, self._file):
            _append(path, entries)

    def survey(self) -> tuple[int, dict[str, str]]:
        files = self._files()
        size_bytes = sum(path.stat().st_size for path in files)
        return size_bytes, {"folder": str(self._folder), "files": str(len(files))}

    def _files(self) -> list[Path]:
        core = self._folder / _CORE_FILE
        days = sorted((self._folder / _DAYS).glob(_DAY))
        return [path for path in (core, *days) if path.is_file()]

    def _file(self, entry: MemoryEntry) -> Path:
        if entry.category == CORE:
            return self._folder / _CORE_FILE
        return self._folder / _DAYS / f"{_day(entry.updated_at_s)}.md"


def _page(path: Path) -> Page:
    """Return the defaults of a line by its place in the files."""
    if path.parent.name != _DAYS or path.name == _CORE_FILE:
        return Page(CORE, path.stat().st_mtime)
    year, month, day = map(int, path.stem.split("-"))
    try:
        return Page(DAILY, datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return Page(DAILY, path.stat().st_mtime)


def _append(path: Path, entries: Iterable[MemoryEntry]) -> None:
    """Add to the end of a file, all or nothing, and durably."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists()
    heading = f"# {'Memory' if path.name == _CORE_FILE else path.stem}\n\n" if is_new else ""
    before = "" if is_new else _ending(path)
    text = heading + before + "".join(map(render, entries))
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size_bytes = os.fstat(handle).st_size
        try:
            _write(handle, text.encode())
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size_bytes)
            raise
    finally:
        os.close(handle)
    if is_new:
        sync_folder(path.parent)


def _write(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]


def _ending(path: Path) -> str:
    """Return the text that must separate the end of a file from an addition."""
    text = _text(path)
    if Page.is_cut_off(text):
        return f"\n{CUT_OFF}\n\n"
    return "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace").replace("\r\n", "\n")


def _day(wall_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return "1970-01-01"
