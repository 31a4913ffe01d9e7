"""The processes that this one has started and that still run, whichever thread did."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


def children() -> Iterator[int]:
    for thread in Path("/proc/self/task").iterdir():
        # It may end meanwhile
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield from map(int, (thread / "children").read_text().split())


def descendants(process: int) -> set[int]:
    """The processes below one, whatever namespace they are in."""
    found: set[int] = set()
    waiting = [process]
    while waiting:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path(f"/proc/{waiting.pop()}/task").iterdir():
                below = set(map(int, (thread / "children").read_text().split()))
                waiting += below - found
                found |= below
    return found


def is_running(process: int) -> bool:
    """Whether it is there; what is dead and only not yet taken note of is not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}
