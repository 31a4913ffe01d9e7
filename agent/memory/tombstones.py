"""Tombstones: what was forgotten, in a file beside `brain.db` that outlives it.

A snapshot or a damaged database may still hold a forgotten memory. Each line names one by a salted
hash, with the time up to which it is dead: what is told again later lives. A line is on disk before
the memory is deleted. Blocking; used in the database's thread.
"""

import hashlib
import logging
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.errors import StorageFull
from agent.memory.base import MemoryEntry
from agent.storage.files import sync_folder, write_atomic

_log = logging.getLogger(__name__)

NAME = "memory-forgotten"
# More than a household forgets in years; the oldest go, long after the last snapshot with them
MAX_TOMBSTONES = 20_000
_SALT_BYTES = 16
# Tells apart the files of all agents that share a brain
_NAME_CHARS = 16
_DEAD, _ALLOWED = "-", "+"


class _Known(Struct):
    """Content of the file.

    Args:
        dead: the latest time of a dead memory, by its hash.
        lines: as many as were ever written since the file was last shortened.
    """

    salt: str
    dead: dict[str, float] = field(default_factory=dict)
    lines: int = 0


class Tombstones:
    """Tombstones of one folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._read: _Known | None = None
        # Of the file when it was read: a command line may have forgotten something meanwhile
        self._stamp: tuple[int, int] | None = None

    @property
    def count(self) -> int:
        """Return the number of lines; it grows with each forgotten memory."""
        return self._known().lines

    @property
    def name(self) -> str:
        """Return a name of this file that tells nothing of its salt."""
        return hashlib.sha256(self._known().salt.encode()).hexdigest()[:_NAME_CHARS]

    def is_dead(self, entry: MemoryEntry) -> bool:
        """Return true if this memory was forgotten after it was last changed."""
        known = self._known()
        if not known.dead:
            return False
        dead_until_s = known.dead.get(self._hash(entry.scope.owner, entry.key))
        return dead_until_s is not None and entry.updated_at_s <= dead_until_s

    def add(self, entries: Iterable[MemoryEntry], now_s: float) -> None:
        """Note durably that these are forgotten.

        Raises:
            OSError: they are not noted.
        """
        # A clock that was wrong once must not bring anything back
        marks = [
            (self._hash(one.scope.owner, one.key), max(now_s, one.updated_at_s)) for one in entries
        ]
        self._append([f"{_DEAD} {digest} {until_s!r}" for digest, until_s in marks])
        self._known().dead.update(marks)

    def allow(self, entry: MemoryEntry) -> None:
        """Take the tombstone away if this memory, which is stored now, would be dead by it."""
        if self.is_dead(entry):
            digest = self._hash(entry.scope.owner, entry.key)
            self._append([f"{_ALLOWED} {digest}"])
            del self._known().dead[digest]

    def _hash(self, owner: str, key: str) -> str:
        named = f"{self._known().salt}\0{owner}\0{key}"
        return hashlib.sha256(named.encode(errors="replace")).hexdigest()

    def _append(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        known = self._known()
        if self._stamp is None:
            write_atomic(self._path, known.salt.encode())
        with self._path.open("ab") as file:
            # Each line begins with its end: one that was cut by a power loss spoils no other
            file.write("".join(f"\n{line}" for line in lines).encode())
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._path.parent)
        known.lines += len(lines)
        self._stamp = self._stamped()

    def _known(self) -> _Known:
        stamp = self._stamped()
        if self._read is None or stamp != self._stamp:
            self._read, self._stamp = self._loaded(), stamp
            if len(self._read.dead) > MAX_TOMBSTONES:
                self._shorten(self._read)
        return self._read

    def _stamped(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_size, status.st_mtime_ns

    def _loaded(self) -> _Known:
        try:
            salt, *lines = self._path.read_text(encoding="ascii", errors="replace").split("\n")
        except FileNotFoundError:
            return _Known(secrets.token_hex(_SALT_BYTES))
        known = _Known(salt, lines=len(lines))
        for line in lines:
            _take(known.dead, line.split())
        return known

    def _shorten(self, known: _Known) -> None:
        newest = sorted(known.dead.items(), key=lambda one: one[1])[-MAX_TOMBSTONES:]
        known.dead = dict(newest)
        lines = [known.salt, *(f"{_DEAD} {digest} {until_s!r}" for digest, until_s in newest)]
        try:
            write_atomic(self._path, "\n".join(lines).encode())
            known.lines = len(newest)
            self._stamp = self._stamped()
        except (OSError, StorageFull) as err:
            _log.warning("memory: tombstones not shortened (error=%s)", err)


def _take(dead: dict[str, float], words: Sequence[str]) -> None:
    """Apply a line; one that was cut says nothing."""
    match words:
        case ["-", digest, until]:
            try:
                dead[digest] = float(until)
            except ValueError:
                return
        case ["+", digest]:
            dead.pop(digest, None)
        case _:
            return
