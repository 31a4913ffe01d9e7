"""A memory as a few lines of Markdown and back: a list item, and a comment before it.

The comment, which no reader shows, holds what the item does not say; without it, as when somebody
wrote the item by hand, a memory is everybody's and trusted least.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.memory.base import DEFAULT_IMPORTANCE, MAX_CONTENT_CHARS, MemoryEntry
from agent.memory.keys import key_of
from agent.memory.record import NAMES, entry_of, row_of
from agent.printable import printable_line, printable_text

# Marks an item before it whose end a power cut has taken
CUT_OFF = "<!-- barnacle: cut off -->"
_COMMENT = re.compile(r"<!-- barnacle (\{.*\}) -->")
_ITEM = re.compile(r"- (?:\*\*(?P<key>.+?)\*\*: )?(?P<content>.*)")
_INDENT = "  "
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


@dataclass(frozen=True, slots=True)
class Page:
    """Defaults of a file for items that do not say otherwise."""

    category: str
    written_at_s: float

    @staticmethod
    def is_cut_off(text: str) -> bool:
        """Return true if the last item of a file is incomplete."""
        *_, last = [None, *_items(text)]
        return last is not None and last.is_cut_off(has_end=text.endswith("\n"))


@dataclass(slots=True)
class _Item:
    key: str
    lines: list[str]
    fields: dict[str, object] = field(default_factory=dict)

    def is_cut_off(self, *, has_end: bool) -> bool:
        """At the end of a file; only our own items know how long they were."""
        lines = self.fields.get("lines")
        return isinstance(lines, int) and (not has_end or len(self.lines) < lines)


def render(entry: MemoryEntry) -> str:
    """The lines of a memory, with an empty one after them."""
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
    # Nothing in it may end the comment
    comment = json.dumps(fields).replace(">", "\\u003e")
    item = f"\n{_INDENT}".join(lines)
    return f"<!-- barnacle {comment} -->\n- **{key}**: {item}\n\n"


def parse(text: str, page: Page) -> Iterator[MemoryEntry]:
    """Every memory of a file's text, in its order."""
    items = list(_items(text))
    if items and items[-1].is_cut_off(has_end=text.endswith("\n")):
        items.pop()
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
        if content.strip() or item.fields:
            yield entry_of([known[name] for name in NAMES])


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
        if item is not None and line.startswith(_INDENT):
            # An editor may have taken the spaces of an empty line
            item.lines += [""] * gaps + [line.removeprefix(_INDENT)]
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
            elif match := _COMMENT.fullmatch(line):
                fields = _fields(match[1])
    if item is not None:
        yield item


def _fields(said: str) -> dict[str, object]:
    try:
        fields = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
