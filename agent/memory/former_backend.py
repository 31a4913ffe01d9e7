"""Last used backend; memories left in it are reported until they are migrated.

Nobody loses memories by changing one word of the configuration.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

from agent.errors import StorageFull
from agent.memory.backends import BackendPlace, may_hold_memories, where
from agent.memory.settings import Backend
from agent.storage.files import write_atomic

_NOTE = "backend.json"
# These keep their memories in the same file
_SAME = frozenset({"sqlite", "lucid"})


def left_behind(place: BackendPlace) -> str:
    """Return the advice about memories in the former backend; empty if there are none."""
    now = place.settings.backend
    last = last_used(place.folder)
    if now == "none":
        return ""
    if last == now or {last, now} <= _SAME or not may_hold_memories(place, last):
        return ""
    return (
        f"memory.backend is now {now}, but memories are still in {last} ({where(place, last)}): "
        f"`barnacle memory migrate --from {last} --to {now}` copies them"
    )


def note(place: BackendPlace, backend: Backend) -> None:
    """Note the backend in use, unless it keeps nothing or the disk is full."""
    if backend not in {"none", last_used(place.folder)}:
        with suppress(OSError, StorageFull):
            write_atomic(place.folder / _NOTE, json.dumps({"last": backend}).encode())


def last_used(folder: Path) -> Backend:
    """Return the backend of the former run; the default if none was noted."""
    try:
        read = json.loads((folder / _NOTE).read_bytes())
    except (OSError, ValueError):
        return "sqlite"
    last = read.get("last") if isinstance(read, dict) else None
    return cast("Backend", last) if last in get_args(Backend) else "sqlite"
