"""Approvals out of a backup: kept apart, and of no effect until the owner gives them again.

Whether one of them was revoked after the backup nobody can know.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent.storage.files import PRIVATE_FOLDER, write_atomic
from agent.storage.lock import locked

FOLDER = "unconfirmed"
# Standing approvals, tools of MCP servers, skills, files of the prompt
FILES = ("approvals.json", "mcp/approved.json", "skills.json", "project.json")
_KINDS = {
    "approvals.json": "always allowed",
    "mcp/approved.json": "tool of an MCP server",
    "skills.json": "skill",
    "project.json": "file for the prompt",
}
# What names one of them, and what tells a person
_SAYS = ("words", "tool", "name", "description")
_TABLE = "_default"
# It holds no documents: each file's name, and the hash that it was approved with
_HASHES = "project.json"
_MAX_CHARS = 120

_Table = dict[str, dict[str, Any]]


def set_aside(state_dir: Path) -> None:
    """Move every approval out of effect."""
    for name in FILES:
        path = state_dir / name
        if path.exists():
            _merge(path, state_dir / FOLDER / name)


def confirm(state_dir: Path) -> int:
    """Put every approval that was set aside into effect; return their number.

    One that was given meanwhile stays as it was given.
    """
    count = 0
    for name in FILES:
        path = state_dir / FOLDER / name
        if path.exists():
            count += len(_read(path))
            # The agent is at work, and the owner may be asked just now
            with locked(state_dir / name):
                _merge(path, state_dir / name)
    return count


def refuse(state_dir: Path) -> int:
    """Forget every approval that was set aside; return their number."""
    count = 0
    for name in FILES:
        path = state_dir / FOLDER / name
        count += len(_read(path))
        path.unlink(missing_ok=True)
    return count


def sentences(state_dir: Path) -> Iterator[str]:
    """Yield what was set aside, a line each."""
    for name in FILES:
        for document in _read(state_dir / FOLDER / name).values():
            said = ", ".join(str(document[key]) for key in _SAYS if document.get(key))
            yield f"{_KINDS[name]}: {said[:_MAX_CHARS]}"


def _merge(source: Path, target: Path) -> None:
    """Move documents into another file; those that it has stay."""
    there, coming = _read(target), _read(source)
    known = [_identity(document) for document in there.values()]
    number = max(map(int, there), default=0)
    for document in coming.values():
        if _identity(document) not in known:
            number += 1
            there[str(number)] = document
    target.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    written = _as_hashes(there) if target.name == _HASHES else {_TABLE: there}
    text = json.dumps(written, ensure_ascii=False, indent=1, sort_keys=True)
    write_atomic(target, text.encode())
    source.unlink()


def _identity(document: dict[str, Any]) -> tuple[object, ...]:
    """Return what no two of one file have in common."""
    if "call" in document:
        return (document["call"],)
    return (document.get("server"), document.get("tool"), document.get("name"))


def _read(path: Path) -> _Table:
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(told, dict):
        return {}
    found = _of_hashes(told) if path.name == _HASHES else told.get(_TABLE)
    return found if isinstance(found, dict) else {}


def _of_hashes(told: dict[str, Any]) -> _Table:
    """Return approved files of the prompt as documents."""
    named = [(name, digest) for name, digest in told.items() if isinstance(digest, str)]
    return {
        str(number): {"name": name, "digest": digest}
        for number, (name, digest) in enumerate(named, start=1)
    }


def _as_hashes(table: _Table) -> dict[str, str]:
    return {str(one["name"]): str(one["digest"]) for one in table.values()}
