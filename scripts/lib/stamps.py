"""Knowing what is already made: a stamp holds the hash of all that a thing was made from.

A stamp is written last, into the folder it vouches for: what was interrupted has none.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path


def key_of(*parts: str | Path) -> str:
    """The hash of texts and of files' contents, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def is_current(stamp: Path, key: str) -> bool:
    try:
        return stamp.read_text() == key
    except (FileNotFoundError, NotADirectoryError):
        return False


def write(stamp: Path, key: str) -> None:
    stamp.parent.mkdir(parents=True, exist_ok=True)
    fresh = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    fresh.write_text(key)
    fresh.replace(stamp)


@contextlib.contextmanager
def exclusive(path: Path, on_wait: Callable[[], None]) -> Iterator[int]:
    """Hold `path`'s lock; the descriptor is for children, who go on holding it if we are killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
