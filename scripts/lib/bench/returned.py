"""Forgotten memories that return when their process is killed or their database is lost."""

from scripts.lib import forgotten
from scripts.lib.bench.brains import LOCAL, BenchBrain
from scripts.lib.bench.table import Row


def measure(times: int, brain: BenchBrain = LOCAL) -> Row:
    """The row of killing a memory so often while it tells, forgets and takes snapshots."""
    found = forgotten.kill(times, server=brain.server)
    return Row(
        f"kill -9 around forgets and snapshots, {times} times, a third with a lost database",
        "0 lost, 0 returned",
        found.text(),
        "-",
        found.is_none,
    )
