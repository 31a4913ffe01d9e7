"""Manifests on disk by their hash: a known board needs one round trip, an absent one has tools.

Losing the folder costs a second at the next connection, never more.
"""

import contextlib
import hashlib
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import write_atomic

# Boards and firmware versions that one device meets in practice
MAX_KEPT = 8
# Many times what a manifest of the largest board takes
MAX_MANIFEST_BYTES = 64 * 1024
HASH_BYTES = 8
_LAST = "last"


def hash_of(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()[:HASH_BYTES]


class ManifestCache:
    """A folder of manifests; every call belongs in a thread once the agent runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, manifest_hash: bytes) -> bytes | None:
        """The manifest with this hash; a damaged file is as good as none."""
        try:
            with self._path(manifest_hash).open("rb") as file:
                raw = file.read(MAX_MANIFEST_BYTES)
        except OSError:
            return None
        return raw if hash_of(raw) == manifest_hash else None

    def last(self) -> bytes | None:
        """The manifest of the board that was connected last."""
        try:
            name = (self._folder / _LAST).read_text("ascii")[: 2 * HASH_BYTES]
            return self.get(bytes.fromhex(name))
        except (OSError, ValueError):
            return None

    def put(self, raw: bytes) -> None:
        """Keep a manifest and remember it as the last one; a full disk is no reason to stop."""
        manifest_hash = hash_of(raw)
        with contextlib.suppress(StorageFull, OSError):
            if self.get(manifest_hash) is None:
                write_atomic(self._path(manifest_hash), raw)
            if self.last() != raw:
                write_atomic(self._folder / _LAST, manifest_hash.hex().encode())
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        paths = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in paths[:-MAX_KEPT]:
            path.unlink()

    def _path(self, manifest_hash: bytes) -> Path:
        return self._folder / f"{manifest_hash.hex()}.json"
