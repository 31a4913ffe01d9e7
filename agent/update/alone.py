"""Lock of the slots: one at a time writes them, or changes which one starts."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from agent.errors import UpdateRefused

_NAME = "lock"


@contextlib.contextmanager
def alone(records: Path) -> Iterator[None]:
    """Hold the lock in the folder of the records; a process that ends lets go of it.

    Raises:
        UpdateRefused: somebody else holds it.
    """
    records.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle = os.open(records / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            raise UpdateRefused(
                "another update is being written: wait until it is finished"
            ) from err
        yield
    finally:
        os.close(handle)
