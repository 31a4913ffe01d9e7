"""Rights of what the agent keeps: its files are 0600 and its folders 0700, wherever they lie."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from agent.storage.files import PRIVATE_FILE, PRIVATE_FOLDER

# Group and others get nothing of what is made without saying so
_UMASK = 0o077


@contextlib.contextmanager
def private_umask() -> Iterator[None]:
    """Whatever is created is for us alone, also where the caller's umask says otherwise."""
    before = os.umask(_UMASK)
    try:
        yield
    finally:
        os.umask(before)


def create_private(path: Path) -> None:
    """An empty file for us alone, unless one is there; its folder too.

    Raises:
        OSError: it cannot be made.
    """
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(path, flags, PRIVATE_FILE))
