"""Memories lost when their process is killed while it stores."""

from scripts.lib import kills
from scripts.lib.bench.table import Row


def measure(times: int) -> Row:
    """The row of killing a store so often."""
    found = kills.kill(times)
    return Row(
        f"kill -9 during stores, {times} times",
        "no acknowledged memory lost, no corrupt start",
        found.text(),
        "-",
        found.is_none,
    )
