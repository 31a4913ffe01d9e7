"""Memory, processor time and writes of this process."""

import os
import time
from pathlib import Path

# What a commit of the journal writes, in a file that grows no more as its log does
_FLUSHED = bytes(16 * 1024)


def flush_s(scratch: Path) -> float:
    with scratch.open("r+b" if scratch.exists() else "w+b") as file:
        began_s = time.perf_counter()
        os.pwrite(file.fileno(), _FLUSHED, 0)
        os.fdatasync(file.fileno())
        return time.perf_counter() - began_s


def rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def written_bytes() -> int:
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["write_bytes"])
