"""Long-term memory in Markdown that only grows: a log for people, editors and Git.

Core memories are in `MEMORY.md`, the others in `memory/<day>.md`. What is said again under the
same key is appended and wins; nothing is ever taken out, so `forget` is False. Writes are numbered:
a memory may get an earlier time than it had, and move to another file.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from msgspec import Struct, field

from agent.embeddings.base import Embedder
from agent.memory.base import CORE, DAILY, DEFAULT_IMPORTANCE, MAX_CONTENT_CHARS, MemoryEntry, Scope
from agent.memory.keys import key_of
from agent.memory.mirror import MirroredMemory
from agent.memory.record import NAMES, entry_of, row_of
from agent.storage.files import sync_folder
from agent.storage.lock import held
from agent.system.clock import Clock
from agent.text.printable import printable_line, printable_text

# Marks an item before it whose end a power cut has taken
CUT_OFF = "<!-- barnacle: cut off -->"
_COMMENT = re.compile(r"<!-- barnacle (\{.*\}) -->")
# We write the first of these marks, people and editors any of them; nothing else makes a rule
_ITEM = re.compile(r"[-*+] (?![-*+ ]+\Z)(?:\*\*(?P<key>.+?)\*\*: )?(?P<content>.*)")
_INDENT = "  "
# The second is an editor's
_INDENTS = (_INDENT, "\t")
_SAID_BY_DEFAULT: dict[str, object] = {
    "person": None,
    "session": None,
    "group_id": None,
    "device": None,
    "importance": DEFAULT_IMPORTANCE,
    "pinned": 0,
    "superseded_by": None,
    "source": "",
}


class Page(Struct, frozen=True):
    """Defaults of a file for items that do not say otherwise."""

    category: str
    written_at_s: float

    @staticmethod
    def is_cut_off(text: str) -> bool:
        """Return true if the last item of a file is incomplete."""
        *_, last = [None, *_items(text)]
        return last is not None and last.is_cut_off(text)


class _Item(Struct):
    key: str
    lines: list[str]
    fields: dict[str, object] = field(default_factory=dict)

    def is_cut_off(self, text: str) -> bool:
        """Return true if the end of a file cuts off an item; only our items know their length."""
        lines, chars = (self.fields.get(name) for name in ("lines", "chars"))
        # An empty line ends each item and is in none: what is shorter now was edited
        if not isinstance(lines, int) or text.endswith("\n\n"):
            return False
        if text.endswith("\n") or not isinstance(chars, int):
            return not text.endswith("\n") or len(self.lines) < lines
        # Whole but for its end of line, which some editors take
        return not self.key or len("\n".join(self.lines)) < chars


def render(entry: MemoryEntry, written: int = 0) -> str:
    """Return the lines of a memory, with an empty one after them.

    Args:
        written: number of the write over all files; 0 is before every other.
    """
    key = printable_line(entry.key, len(entry.key)).replace("*", "").strip() or "?"
    content = printable_text(entry.content, MAX_CONTENT_CHARS)
    row = row_of(entry)
    fields = {
        name: row[name]
        for name in NAMES
        if name not in {"key", "content"} and row[name] != _SAID_BY_DEFAULT.get(name, row)
    }
    if key != entry.key:
        fields["key"] = entry.key
    if content != entry.content:
        fields["content"] = entry.content
    lines = content.split("\n")
    fields["lines"] = len(lines)
    fields["chars"] = len(content)
    if written:
        fields["written"] = written
    # Nothing in it may end the comment
    comment = json.dumps(fields).replace(">", "\\u003e")
    item = f"\n{_INDENT}".join(lines)
    return f"<!-- barnacle {comment} -->\n- **{key}**: {item}\n\n"


def parse(text: str, page: Page) -> Iterator[MemoryEntry]:
    """Yield every memory of a file's text, in order."""
    return (entry for _, entry in numbered(text, page))


def numbered(text: str, page: Page) -> Iterator[tuple[int, MemoryEntry]]:
    """Yield every memory of a file's text with the number of its write, in order."""
    items = list(_items(text))
    if items and items[-1].is_cut_off(text):
        items.pop()
    written = 0
    for item, at_s in zip(items, _times(items, page.written_at_s), strict=True):
        content = str(item.fields.get("content", "\n".join(item.lines)))
        known = {
            **_SAID_BY_DEFAULT,
            "id": 0,
            "category": page.category,
            "provenance": "web",
            "created_at_s": at_s,
            "updated_at_s": at_s,
            "content": content,
            "key": item.key or key_of(content),
            **item.fields,
        }
        # What a person has added belongs to the item before it
        said = item.fields.get("written", written)
        written = said if isinstance(said, int) else written
        if type(known["id"]) is not int:
            known["id"] = 0
        if content.strip() or item.fields:
            yield written, entry_of([known[name] for name in NAMES])


def _times(items: list[_Item], written_at_s: float) -> list[float]:
    """Return each item's time; an item without one follows the item before it."""
    said = [item.fields.get("updated_at_s") for item in items]
    known = [float(one) for one in said if isinstance(one, int | float)]
    last_s = known[0] if known else written_at_s
    times = []
    for one in said:
        last_s = float(one) if isinstance(one, int | float) else last_s
        times.append(last_s)
    return times


def _items(text: str) -> Iterator[_Item]:
    item: _Item | None = None
    fields: dict[str, object] = {}
    gaps = 0
    for line in text.split("\n"):
        if item is not None and line.startswith(_INDENTS):
            # An editor may have taken the spaces of an empty line
            item.lines += [""] * gaps + [line[len(_INDENT) if line[0] == " " else 1 :]]
            gaps = 0
        elif item is not None and not line:
            gaps += 1
        elif line == CUT_OFF:
            item = None
        else:
            if item is not None:
                yield item
            item, gaps = None, 0
            if match := _ITEM.fullmatch(line):
                item = _Item(match["key"] or "", [match["content"]], fields)
                fields = {}
            elif match := _COMMENT.fullmatch(line.strip()):
                fields = _fields(match[1])
    if item is not None:
        yield item


def _fields(said: str) -> dict[str, object]:
    try:
        fields = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


_CORE_FILE = "MEMORY.md"
_DAYS = "memory"
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md"


class MarkdownMemory(MirroredMemory):
    """Memories as lines of text."""

    name = "markdown"

    def __init__(self, folder: Path, embedder: Embedder, clock: Clock) -> None:
        super().__init__(MarkdownKeeper(folder), embedder, clock)

    async def forget(self, key: str, scope: Scope) -> bool:
        """Return false: a log only grows."""
        return False

    async def forget_source(self, source: str, scope: Scope) -> int:
        """Return 0: a log only grows."""
        return 0


class MarkdownKeeper:
    """Files in one folder; created with the first memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = 0

    def lock(self) -> ExitStack:
        return held(self._folder / _DAYS / _CORE_FILE)

    def stamp(self) -> object:
        found = [(path, path.stat()) for path in self._files()]
        return [(path.name, at.st_mtime_ns, at.st_size, at.st_ino) for path, at in found]

    def load(self) -> Sequence[MemoryEntry]:
        newest: dict[tuple[str, str], tuple[int, MemoryEntry]] = {}
        for path in self._files():
            for written, entry in numbered(_text(path), _page(path)):
                name = (entry.scope.owner, entry.key)
                known = newest.get(name)
                if known is None or _order(written, entry) >= _order(*known):
                    newest[name] = written, entry
        self._written = max((written for written, _ in newest.values()), default=0)
        # Those that were written by hand have no number and take what is left
        entries = (entry for _, entry in newest.values())
        return sorted(entries, key=lambda entry: (entry.memory_id <= 0, entry.memory_id))

    def keep(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        self._written += 1
        by_file = sorted(changed, key=lambda entry: str(self._file(entry)))
        for path, entries in groupby(by_file, self._file):
            _append(path, entries, self._written)

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


def _order(written: int, entry: MemoryEntry) -> tuple[int, float]:
    """Return what says which of two is the newer; earlier versions numbered nothing."""
    return written, entry.updated_at_s


def _append(path: Path, entries: Iterable[MemoryEntry], written: int) -> None:
    """Append to a file durably, completely or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists()
    heading = f"# {'Memory' if path.name == _CORE_FILE else path.stem}\n\n" if is_new else ""
    before = "" if is_new else _ending(path)
    text = heading + before + "".join(render(entry, written) for entry in entries)
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
    # Editors of Windows begin a file with a mark: a comment behind it would not be read, and the
    # memory would be everybody's
    return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _day(wall_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return "1970-01-01"
