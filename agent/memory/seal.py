"""Which snapshots this device has written: a code for each, made with a key of the same folder.

A snapshot names who said what. Only one that we have written ourselves is believed; any other is
a file that anybody may have put there, whatever it says of itself.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from agent.storage.files import write_atomic

KEY_NAME = "memory-seal.key"
SEALS_NAME = "memory-seals"
# As many as generations are kept, and some of those that were taken out of the folder by hand
MAX_SEALS = 32
_KEY_BYTES = 32


class Seals:
    """The codes of one folder; blocking, for a thread."""

    def __init__(self, folder: Path) -> None:
        self._key_path = folder / KEY_NAME
        self._path = folder / SEALS_NAME

    def note(self, digest: str) -> None:
        """We wrote a file with that digest.

        Raises:
            OSError: it could not be kept.
        """
        code = _code(self._key() or self._made(), digest)
        known = self._known()
        if code in known:
            return
        write_atomic(
            self._path, "".join(f"{one}\n" for one in [*known, code][-MAX_SEALS:]).encode()
        )

    def is_ours(self, digest: str) -> bool:
        """Whether this device wrote a file with that digest."""
        key = self._key()
        if key is None:
            return False
        code = _code(key, digest)
        return any(hmac.compare_digest(code.encode(), one.encode()) for one in self._known())

    def _key(self) -> bytes | None:
        """The key; none where it is missing or not for us alone."""
        try:
            handle = os.open(self._key_path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                return None
            key = file.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None

    def _made(self) -> bytes:
        key = secrets.token_bytes(_KEY_BYTES)
        write_atomic(self._key_path, key)
        return key

    def _known(self) -> list[str]:
        try:
            return self._path.read_text(encoding="ascii", errors="replace").split()
        except OSError:
            return []


def _code(key: bytes, digest: str) -> str:
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()
