"""Another user of the machine, as the kernel sees one: for root's tests only."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def somebody(uid: int, *groups: int) -> Iterator[None]:
    """What is opened inside is opened by that user."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)
