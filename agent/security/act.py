"""Binding of a yes to one exact act, in the surroundings in which it was shown.

The tool, its arguments, the folder it works in by its real identity, the environment, and what the
files say that it names. Whatever of this changes is another act.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.errors import BarnacleError

# Of the files that an act depends on: a second or two of a slow card
MAX_HASHED_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 256 * 1024


class Dependence(Struct, frozen=True):
    """Dependence of an act on more than its arguments.

    Args:
        folder: where it works; known by device and inode, so another in its place is another.
        files: whose content matters, relative to the folder.
        environment: what a program that it starts is given.
    """

    folder: Path | None = None
    files: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def without_files(self) -> "Dependence":
        return Dependence(self.folder, (), self.environment)


NOTHING = Dependence()


class Pattern(Struct, frozen=True):
    """Scope of an "always": calls of the tool in which these things are the same.

    Args:
        words: what such a call does, for the owner who is asked.
    """

    fixed: Mapping[str, str]
    words: str


def canonical(arguments_json: str) -> str:
    """Return the same text for the same arguments, whatever their order and spacing.

    Raises:
        ValueError: it is not JSON.
    """
    return _plain(json.loads(arguments_json or "{}"))


def call_hash(tool: str, arguments_json: str) -> str:
    """Return the hash that names a call in any surroundings."""
    return _hash(tool, canonical(arguments_json))


def act_hash(tool: str, arguments_json: str, dependence: Dependence) -> str:
    """Return the hash that a yes is bound to; reads the disk.

    Raises:
        ValueError: the arguments are not JSON.
    """
    return _hash(tool, canonical(arguments_json), *_surroundings(dependence))


def pattern_hash(tool: str, pattern: Pattern, dependence: Dependence) -> str:
    """Return the hash that an "always" is bound to: pattern, folder and environment."""
    told = _plain(dict(pattern.fixed))
    return _hash(tool, "always", told, *_surroundings(dependence.without_files))


def _surroundings(dependence: Dependence) -> tuple[str, ...]:
    if dependence == NOTHING:
        return ()
    folder = _identity_of(dependence.folder) if dependence.folder else ""
    files = {path: _content_of(dependence.folder, path) for path in dependence.files}
    return (folder, _plain(dict(dependence.environment)), _plain(files))


def _identity_of(folder: Path) -> str:
    try:
        found = folder.stat()
    except OSError as err:
        return f"none: {err.errno}"
    return f"{found.st_dev}:{found.st_ino}"


def _content_of(folder: Path | None, path: str) -> str:
    """Return the hash of a file; for one that cannot be opened, the reason."""
    from agent.security.paths import open_beneath  # noqa: PLC0415 - only where a file matters

    if folder is None:
        return "nowhere"
    digest, room = hashlib.sha256(), MAX_HASHED_BYTES
    try:
        with open_beneath(folder, path) as file:
            while piece := file.read(min(room, _PIECE_BYTES)):
                digest.update(piece)
                room -= len(piece)
    except (BarnacleError, OSError) as err:
        return f"unreadable: {err}"
    # What cannot be compared whole counts as changed, each time
    return digest.hexdigest() if room else secrets.token_hex()


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
