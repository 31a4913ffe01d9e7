"""Row form of a memory in `brain.db`: every column in one order, invalid values made safe."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from agent.memory.base import DEFAULT_IMPORTANCE, MemoryEntry, Scope
from agent.messages import Provenance

NAMES = (
    "id",
    "key",
    "content",
    "category",
    "provenance",
    "person",
    "session",
    "group_id",
    "device",
    "created_at_s",
    "updated_at_s",
    "importance",
    "pinned",
    "superseded_by",
    "source",
)
COLUMNS = ", ".join(NAMES)
PLACES = ", ".join(f":{name}" for name in NAMES)
# Conversations whose memories are looked at: of a household all of them
_KNOWN_SCOPES = 256
_PROVENANCES = {one.name.lower(): one for one in Provenance}


def entry_of(row: Sequence[Any]) -> MemoryEntry:
    """Return the memory of a row selected by `COLUMNS`; damaged fields get safe values."""
    # A question looks at a hundred and more: by place, not by name
    memory_id, key, content, category, provenance, person, session, group, device = row[:9]
    created_at_s, updated_at_s, importance, pinned, superseded_by, source = row[9:]
    return MemoryEntry(
        # Constant columns with their declared affinity: SQLite keeps this one an integer
        memory_id,
        str(key),
        str(content),
        str(category),
        provenance_of(str(provenance)),
        _scope(person, session, group, device),
        _number(created_at_s, 0.0),
        _number(updated_at_s, 0.0),
        importance=min(1.0, max(0.0, _number(importance, DEFAULT_IMPORTANCE))),
        pinned=bool(pinned),
        superseded_by=superseded_by if isinstance(superseded_by, int) else None,
        source=str(source),
    )


def row_of(entry: MemoryEntry) -> dict[str, Any]:
    """Return the values of `PLACES`."""
    scope = entry.scope
    return {
        "id": entry.memory_id,
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "provenance": entry.provenance.name.lower(),
        "person": scope.person,
        "session": scope.session,
        "group_id": scope.group,
        "device": scope.device,
        "created_at_s": _number(entry.created_at_s, 0.0),
        "updated_at_s": _number(entry.updated_at_s, 0.0),
        "importance": min(1.0, max(0.0, _number(entry.importance, DEFAULT_IMPORTANCE))),
        "pinned": int(entry.pinned),
        "superseded_by": entry.superseded_by,
        "source": entry.source,
    }


def provenance_of(name: str) -> Provenance:
    """Return the provenance of that name; an unknown one is trusted least."""
    found = _PROVENANCES.get(name)
    return _PROVENANCES.get(name.lower(), Provenance.WEB) if found is None else found


@lru_cache(maxsize=_KNOWN_SCOPES)
def _scope(person: object, session: object, group: object, device: object) -> Scope:
    return Scope(_name(person), _name(session), _name(group), _name(device))


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object, otherwise: float) -> float:
    if type(value) is float and math.isfinite(value):
        # Nearly all are, and to ask for it by `isinstance` of two types takes as long again
        return value
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return float(cast("float", value)) if is_number else otherwise
