"""Power cuts on the whole firmware, at the times that each board's flash takes.

firmware/host/power_cuts.py cuts in every operation, with the code that writes alone. Here each
board is played as it is installed, and cut in some: outputs, light and watchdog count as well.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from scripts.lib.bench.played_board import AfterCut, PlayedBoard
from scripts.lib.bench.table import Row
from tests.fakes.board_sim import BoardSim

TIMES = ("typical", "worst")


class Attempt(Struct, frozen=True):
    """Cuts in one thing that a board writes, beside the same without a cut."""

    board: str
    action: str
    times: str
    operations: int
    whole_ms: int
    outcomes: tuple[AfterCut, ...]


def attempts(
    board: str, actions: Sequence[str], times: str, cuts: int, *, is_frozen: bool = False
) -> Iterator[Attempt]:
    """Write without a cut, then cut in so many operations from the first to the last.

    Raises:
        NotTried: it did not come back.
    """
    with tempfile.TemporaryDirectory(prefix="barnacle-cuts-") as name:
        folder, flash = Path(name), Path(name) / "flash.bin"
        with BoardSim(folder, flash=flash, board=board, is_frozen=is_frozen) as new:
            # What is put onto a new board would take a minute
            PlayedBoard(new, board).configure()
        with BoardSim(
            folder, flash=flash, board=board, flash_times=times, is_frozen=is_frozen
        ) as played:
            on = PlayedBoard(played, board)
            for action in actions:
                yield _attempt(on, board, action, times, cuts)


def row(tried: Attempt, way: str = "") -> Row:
    """Return what came of it as a row of the table."""
    count = len(tried.outcomes)
    configured = sum(one.is_configured for one in tried.outcomes)
    stopped = sum(one.is_stopped for one in tried.outcomes)
    was_on = sum(one.was_on for one in tried.outcomes)
    resets = sum(one.resets for one in tried.outcomes)
    stop = f", the stop after {stopped}" if tried.action == "stop" else ""
    return Row(
        f"{tried.action} on {tried.board}{way}, whole, {tried.times} times",
        "every cut, 0 outputs on",
        f"of {count} cuts it starts after {count}, has a configuration after {configured}{stop};"
        f" {was_on} outputs on, {resets} watchdog resets",
        f"{tried.operations} operations in {tried.whole_ms:,} ms",
        configured == count and not was_on and not resets and (not stop or stopped == count),
    )


def _attempt(board: PlayedBoard, name: str, action: str, times: str, cuts: int) -> Attempt:
    began_s = time.monotonic()
    operations = board.write(action)
    whole_ms = round((time.monotonic() - began_s) * 1000)
    count = min(cuts, operations)
    # Evenly from the first to the last
    places = [at * (operations - 1) // max(1, count - 1) for at in range(count)]
    outcomes = tuple(board.cut(action, at) for at in places)
    return Attempt(name, action, times, operations, whole_ms, outcomes)
