"""Exports of mem0 and Letta: JSON with a list of memories, or with an agent's memory blocks.

Any other JSON is refused whole: nobody knows what its texts mean.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from agent.errors import MemoryUnavailable
from agent.memory.base import CORE, MAX_CONTENT_CHARS, MemoryEntry, Scope
from agent.memory.keys import key_of
from agent.memory.openclaw import statements
from agent.messages import Provenance

# Blocks of Letta that describe the agent, not the person
_OF_THE_AGENT = frozenset({"persona", "system", "instructions"})


def parse(
    path: Path, text: str, scope: Scope, provenance: Provenance
) -> Iterator[MemoryEntry | None]:
    """Return the memories; None for each that is too long or has no text.

    Raises:
        MemoryUnavailable: it is no export that is known here.
    """
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as err:
        raise MemoryUnavailable(f"{path} is no valid JSON: {err}. Nothing was imported") from err
    changed_s = path.stat().st_mtime
    for found in (_of_mem0(content), _of_letta(content)):
        if found is not None:
            return iter([_entry(*one, scope, provenance, changed_s) for one in found])
    raise MemoryUnavailable(
        f"{path} is JSON, but no export of mem0 or Letta that is known here. Nothing was imported"
    )


_Found = list[tuple[str, Any, Any]]


def _of_mem0(content: Any) -> _Found | None:
    """Return source, text and time of each memory in `results`, `memories` or a bare list."""
    if isinstance(content, dict):
        content = content.get("results", content.get("memories"))
    if not isinstance(content, list) or not content:
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("memory"), str) for one in content):
        return None
    return [
        ("mem0", one["memory"], one.get("updated_at") or one.get("created_at")) for one in content
    ]


def _of_letta(content: Any) -> _Found | None:
    """Return the lines of the blocks about the person, of old agent files and new ones."""
    if not isinstance(content, dict):
        return None
    blocks = content.get("blocks", content.get("core_memory"))
    if not isinstance(blocks, list) or not blocks:
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("value"), str) for one in blocks):
        return None
    return [
        (f"letta:{block.get('label', '')}", line, block.get("updated_at"))
        for block in blocks
        if block.get("label") not in _OF_THE_AGENT
        for line in statements(block["value"])
    ]


def _entry(
    source: str, text: str, moment: Any, scope: Scope, provenance: Provenance, changed_s: float
) -> MemoryEntry | None:
    if not text.strip() or len(text) > MAX_CONTENT_CHARS:
        return None
    at_s = _seconds(moment, changed_s)
    return MemoryEntry(0, key_of(text), text, CORE, provenance, scope, at_s, at_s, source=source)


def _seconds(moment: Any, otherwise_s: float) -> float:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except (ValueError, OverflowError, OSError):
        return otherwise_s
