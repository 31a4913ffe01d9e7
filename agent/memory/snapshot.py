"""Text of a snapshot: all memories with all fields as Markdown that reads back the same.

A heading with the key, the content between fences that are longer than any it contains, and a
list of fields. The last line counts the memories and has the hash of everything before it.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from agent.memory.base import DEFAULT_IMPORTANCE, MemoryEntry, Scope
from agent.memory.record import provenance_of

HEADER = """# Barnacle memory snapshot

Everything that is remembered, for reading, for Git and for the day the database is lost.
Each memory is a heading with its key, its content between fences, and its fields (format 1).
"""
_FENCE = re.compile(r"(`{3,})(text|json)")
_FIELD = re.compile(r"- ([a-z ]+): (.*)", re.DOTALL)
_END = re.compile(r"<!-- (\d+) memories, sha256 ([0-9a-f]{64}) -->")
# The end line is shorter
END_BYTES = 160
_MAX_ID = 2**63 - 1
# Joiners belong to emoji and to some scripts; other invisible characters are spelled out
_JOINERS = "\u200c\u200d"


class _Lines(Struct):
    """Lines of one memory, read so far."""

    key: str
    content: list[str] = field(default_factory=list)
    fence: str = ""
    is_json: bool = False
    is_closed: bool = False
    is_broken: bool = False
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """True while its content goes on."""
        return bool(self.fence) and not self.is_closed and not self.is_broken


def rendered(entry: MemoryEntry) -> str:
    """Return one memory, with an empty line before it."""
    fields = [f"- {name}: {value}" for name, value in _fields(entry)]
    return "\n".join(["", f"## {_word(entry.key)}", "", _fenced(entry.content), "", *fields, ""])


def ending(count: int, digest: str) -> bytes:
    return f"\n<!-- {count} memories, sha256 {digest} -->\n".encode()


def whole(entries: Iterable[MemoryEntry]) -> bytes:
    """Return a complete file of these memories."""
    listed = list(entries)
    body = (HEADER + "".join(map(rendered, listed))).encode(errors="replace")
    return body + ending(len(listed), hashlib.sha256(body).hexdigest())


def claimed(line: str) -> tuple[int, str] | None:
    """Return the count and hash that an end line claims; None if it is no end line."""
    match = _END.fullmatch(line.strip())
    return (int(match[1]), match[2]) if match else None


def parse(lines: Iterable[str]) -> Iterator[MemoryEntry | None]:
    """Yield the memories of a file; None for each unreadable one."""
    current: _Lines | None = None
    for raw in lines:
        # Git and editors of Windows end lines so; a memory that has such ends itself is in JSON
        line = raw.removesuffix("\n").removesuffix("\r")
        if current is not None and current.is_open:
            _take_content(current, line)
        elif line.startswith("## "):
            if current is not None:
                yield _entry(current)
            current = _Lines(line[3:])
        elif current is not None:
            _take_field(current, line)
    if current is not None:
        yield _entry(current)


def _take_content(current: _Lines, line: str) -> None:
    if line == current.fence:
        current.is_closed = True
    elif line.startswith(current.fence):
        # No content has that: the end of this one is missing, and this is another's fence
        current.is_broken = True
    else:
        current.content.append(line)


def _take_field(current: _Lines, line: str) -> None:
    if not current.fence and (fence := _FENCE.fullmatch(line)):
        current.fence = fence[1]
        current.is_json = fence[2] == "json"
    elif named := _FIELD.fullmatch(line):
        current.fields[named[1]] = named[2]


def _entry(read: _Lines) -> MemoryEntry | None:
    try:
        return _checked(read)
    except (ValueError, OverflowError, RecursionError):
        return None


def _checked(read: _Lines) -> MemoryEntry:
    if not read.is_closed:
        raise ValueError("its content has no end")
    fields = read.fields
    content = "\n".join(read.content)
    names = ("person", "session", "group", "device")
    scope = Scope(*(_unworded(fields[name]) if name in fields else None for name in names))
    superseded_by = _id(fields["superseded by"]) if "superseded by" in fields else None
    created_at_s = _seconds(fields.get("created", ""))
    return MemoryEntry(
        _id(fields.get("id", "0")),
        _unworded(read.key),
        _text(json.loads(content)) if read.is_json else content,
        _unworded(fields.get("category", "core")),
        provenance_of(fields.get("provenance", "")),
        scope,
        created_at_s,
        _seconds(fields["updated"]) if "updated" in fields else created_at_s,
        importance=float(fields.get("importance", DEFAULT_IMPORTANCE)),
        pinned=fields.get("pinned") == "yes",
        superseded_by=superseded_by,
        source=_unworded(fields.get("source", '""')),
    )


def _fields(entry: MemoryEntry) -> Iterator[tuple[str, str]]:
    scope = entry.scope
    yield "id", str(entry.memory_id)
    yield "category", _word(entry.category)
    yield "provenance", entry.provenance.name.lower()
    owners = (
        ("person", scope.person),
        ("group", scope.group),
        ("device", scope.device),
        ("session", scope.session),
    )
    for name, value in owners:
        if value is not None:
            yield name, _word(value)
    yield "created", _moment(entry.created_at_s)
    yield "updated", _moment(entry.updated_at_s)
    if entry.importance != DEFAULT_IMPORTANCE:
        yield "importance", repr(entry.importance)
    if entry.pinned:
        yield "pinned", "yes"
    if entry.superseded_by is not None:
        yield "superseded by", str(entry.superseded_by)
    if entry.source:
        yield "source", _word(entry.source)


def _fenced(content: str) -> str:
    runs = (len(run) for run in re.findall("`+", content))
    fence = "`" * max(3, 1 + max(runs, default=0))
    if all(_is_plain(char) or char in "\n\t" for char in content):
        return f"{fence}text\n{content}\n{fence}"
    return f"{fence}json\n{json.dumps(content)}\n{fence}"


def _word(text: str) -> str:
    """Return a text in one line: unchanged if it reads back, else spelled out."""
    is_plain = text and text == text.strip() and text[0] != '"' and all(map(_is_plain, text))
    return text if is_plain else json.dumps(text)


def _unworded(word: str) -> str:
    return _text(json.loads(word)) if word.startswith('"') else word


def _id(digits: str) -> int:
    return min(_MAX_ID, max(0, int(digits)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004 - a mistake in a file, not in our code
    return value


def _is_plain(char: str) -> bool:
    return char.isprintable() or char in _JOINERS


def _moment(wall_s: float) -> str:
    """Return a time for people, followed by its exact value."""
    try:
        readable = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return repr(wall_s)
    return f"{readable} = {wall_s!r}"


def _seconds(moment: str) -> float:
    return float(moment.rpartition("= ")[2] or "0")
