"""Last used backend; memories left in it are reported until they are moved.

Nobody loses memories by changing one word of the configuration.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

from agent.errors import StorageFull
from agent.memory.backends import Place, may_hold_memories, where
from agent.memory.settings import Backend
from agent.storage.files import write_atomic

_NOTE = "backend.json"
# These keep their memories in the same file
_SAME = frozenset({"sqlite", "lucid"})


def left_behind(place: Place) -> str:
    """Return the advice about memories in the former backend; empty if there are none."""
    now = place.settings.backend
    last = last_used(place.folder)
    if now == "none":
        return ""
    if last == now or {last, now} <= _SAME or not may_hold_memories(place, last):
        return ""
    return (
        f"memory.backend is {now} now, and memories are still in {last} ({where(place, last)}): "
        f"`barnacle memory migrate --from {last} --to {now}` carries them over"
    )


def note(place: Place, backend: Backend) -> None:
    """Remember that this is the one in use, unless it keeps nothing; a full disk forgets it."""
    if backend not in {"none", last_used(place.folder)}:
        with suppress(OSError, StorageFull):
            write_atomic(place.folder / _NOTE, json.dumps({"last": backend}).encode())


def last_used(folder: Path) -> Backend:
    """The backend that memories were kept in; the default's, where nobody has chosen one."""
    try:
        read = json.loads((folder / _NOTE).read_bytes())
    except (OSError, ValueError):
        return "sqlite"
    last = read.get("last") if isinstance(read, dict) else None
    return cast("Backend", last) if last in get_args(Backend) else "sqlite"
