"""Memory, processor time and writes of this process, and of others."""

import os
import time
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Used:
    """Resources that a process has used so far."""

    cpu_s: float
    written_bytes: int
    rss_bytes: int
    # Times that one of its threads began to wait: each ends with a wake-up
    waits: int

    @classmethod
    def by(cls, process: int) -> "Used":
        """Return those of a process by its number; its threads are counted, its children not."""
        folder = Path(f"/proc/{process}")
        fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        counters = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
        pages = int((folder / "statm").read_text().split()[1])
        return cls(
            ticks / os.sysconf("SC_CLK_TCK"),
            int(counters["write_bytes"]),
            pages * os.sysconf("SC_PAGE_SIZE"),
            sum(_waits(task) for task in (folder / "task").iterdir()),
        )


def _waits(task: Path) -> int:
    name = "voluntary_ctxt_switches:"
    lines = (task / "status").read_text().splitlines()
    return next(int(line.removeprefix(name)) for line in lines if line.startswith(name))
