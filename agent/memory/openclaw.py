"""Memory files of OpenClaw: `MEMORY.md` for lasting facts, `memory/YYYY-MM-DD.md` for days.

Each list item and each paragraph is one memory, with the heading that it stands under. What is
fenced stays together; comments, rules and empty headings are nothing to remember.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

from agent.errors import MemoryUnavailable
from agent.memory.base import CORE, DAILY, MAX_CONTENT_CHARS, MemoryEntry, Scope
from agent.memory.keys import key_of
from agent.messages import Provenance

LASTING = "MEMORY.md"
# Where nanobot notes what happened, a paragraph each with its time in front
HISTORY = "HISTORY.md"
# Where its later versions do: an object a line, with a time and a summary
RECORDS = "history.jsonl"
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2}).*\.md", re.ASCII)
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)\]")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_ITEM = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+", re.ASCII)
_FENCE = re.compile(r"\s*(```+|~~~+)")
_RULE = re.compile(r"\s*([-*_])(\s*\1){2,}\s*")
# Larger files are no notes
MAX_FILE_BYTES = 16 * 1024 * 1024


def files(path: Path) -> list[Path]:
    """Return the memory files of a folder, or the file itself."""
    if path.is_file():
        return [path]
    # nanobot has all of its files in the folder of the days
    notes = [path, path / "memory"]
    days = [
        day for folder in notes for day in sorted(folder.glob("*.md")) if _DAY.fullmatch(day.name)
    ]
    named = [folder / name for name in (LASTING, HISTORY, RECORDS) for folder in notes]
    return [found for found in (*named, *days) if found.is_file()]


def parse(path: Path, scope: Scope, provenance: Provenance) -> Iterator[MemoryEntry | None]:
    """Yield the memories of one file; None for each that is too long."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise MemoryUnavailable(f"{path} is larger than {MAX_FILE_BYTES // 1024**2} MB")
    text = path.read_text(encoding="utf-8", errors="replace")
    category, changed_s = _day(path)
    told = _recorded(text) if path.name == RECORDS else ((one, one) for one in statements(text))
    for moment, content in told:
        if len(content) > MAX_CONTENT_CHARS:
            yield None
            continue
        at_s = _moment(moment, changed_s)
        yield MemoryEntry(
            0,
            key_of(content),
            content,
            category,
            provenance,
            scope,
            at_s,
            at_s,
            source=f"openclaw:{path.name}",
        )


def _recorded(text: str) -> Iterable[tuple[str, str]]:
    """Yield the statements of a history of records, each after its time; a cut line says none."""
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(said := record.get("content"), str):
            moment = f"[{record.get('timestamp')}]"
            yield from ((moment, one) for one in statements(said))


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a file, one at a time."""
    heading = ""
    for block in _blocks(text):
        if named := _HEADING.fullmatch(block):
            # The first one names the file
            heading = named[2] if len(named[1]) > 1 else ""
        elif said := _ITEM.sub("", block, count=1).strip() if _ITEM.match(block) else block.strip():
            yield f"{heading}: {said}" if heading else said


def _blocks(text: str) -> Iterator[str]:
    """Yield headings, list items with their indented text, and paragraphs."""
    held: list[str] = []
    fence = ""
    for line in re.sub(r"<!--.*?(-->|\Z)", "", text, flags=re.DOTALL).splitlines():
        fences = _FENCE.match(line)
        if fence or fences:
            held.append(line)
            fence = _still_open(fence, fences)
            continue
        is_heading = _HEADING.fullmatch(line) is not None
        if is_heading or not line.strip() or _ITEM.match(line) or _RULE.fullmatch(line):
            yield from _joined(held)
            held = []
        if is_heading:
            yield line
        elif line.strip() and not _RULE.fullmatch(line):
            held.append(line)
    yield from _joined(held)


def _still_open(fence: str, fences: re.Match[str] | None) -> str:
    if not fence and fences is not None:
        return fences[1]
    is_end = fences is not None and fences[1].startswith(fence)
    return "" if is_end else fence


def _joined(lines: list[str]) -> Iterator[str]:
    if lines:
        yield "\n".join(lines)


def _day(path: Path) -> tuple[str, float]:
    """Return the category of a file and the time of its content."""
    if named := _DAY.fullmatch(path.name):
        try:
            midday = datetime.combine(date.fromisoformat(named[1]), time(12), UTC)
        except ValueError:
            return DAILY, path.stat().st_mtime
        return DAILY, midday.timestamp()
    return (DAILY if path.name in {HISTORY, RECORDS} else CORE), path.stat().st_mtime


def _moment(content: str, otherwise_s: float) -> float:
    """Return the time that a paragraph of a history begins with."""
    named = _STAMP.match(content)
    try:
        return datetime.fromisoformat(named[1]).timestamp() if named else otherwise_s
    except (ValueError, OverflowError, OSError):
        return otherwise_s
