"""Memory and processes of a browser below this process, or of what else is below another."""

import os
import time
from pathlib import Path

from tests.fakes.children import descendants, is_running
from tests.waits import wait_until

# What is killed goes at once, if the machine has time for it
_GONE_S = 10.0


def tree_mb(process: int = 0) -> float:
    """Return the memory of every process below one, or below this: shared pages count once."""
    found = 0
    for one in descendants(process or os.getpid()):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return found / 1024


def own_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


async def until_gone(processes: set[int] | None = None) -> float:
    """Return how long it took until no process was left."""
    begun = time.monotonic()
    below = processes if processes is not None else descendants(os.getpid())
    await wait_until(lambda: not [one for one in below if is_running(one)], _GONE_S)
    return time.monotonic() - begun
