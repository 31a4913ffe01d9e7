"""File modes of the agent's data: 0600 for files, 0700 for folders."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from agent.storage.files import PRIVATE_FILE, PRIVATE_FOLDER

# Group and others get nothing of what is made without saying so
_UMASK = 0o077


@contextlib.contextmanager
def private_umask() -> Iterator[None]:
    """Create files for this user alone, whatever the caller's umask."""
    before = os.umask(_UMASK)
    try:
        yield
    finally:
        os.umask(before)


def create_private(path: Path) -> None:
    """Create an empty private file and its folder, unless it exists.

    Raises:
        OSError: it cannot be made.
    """
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(path, flags, PRIVATE_FILE))
