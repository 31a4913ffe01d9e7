"""Commands over lines that lose, double, reorder, dissect and delay: each executed once or unknown.

The simulator counts what the firmware runs; the record has every change that the world saw.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from agent.errors import CallRefused, LinkLost, OutcomeUnknown
from agent.link.connection import BoardConnection
from agent.link.session import Request
from scripts.lib.bench import lines
from scripts.lib.bench.boards import GPIO_WRITE, PINS, connected, one_board
from scripts.lib.bench.relay import relay
from scripts.lib.bench.table import Row
from tests.fakes.board_sim import BoardSim

_DEADLINE_MS = 5_000
# Enough to have frames overtake each other, fewer than the window
_CALLERS = 4
LINES: dict[str, type[lines.PerfectLine]] = {
    "none": lines.PerfectLine,
    "20 % lost": lines.LossyLine,
    "doubled": lines.DuplicatingLine,
    "reordered": lines.ReorderingLine,
    "byte by byte": lines.OneByteAtATimeLine,
    "delayed": lines.DelayingLine,
    "all at once": lines.WorstLine,
}


@dataclass(slots=True)
class Tally:
    """Answers that the callers got, and actions of the board."""

    told_done: int = 0
    told_unknown: int = 0
    told_not_sent: int = 0
    refused: int = 0
    ran: int = 0
    changes: int = 0

    @property
    def commands(self) -> int:
        return self.told_done + self.told_unknown + self.told_not_sent + self.refused

    @property
    def too_many(self) -> int:
        """Executions that nobody was told of: a command that ran twice, or one said to be lost."""
        return max(0, self.ran - self.told_done - self.told_unknown - self.refused)

    @property
    def too_few(self) -> int:
        """Commands that were said to be done and were not."""
        return max(0, self.told_done + self.refused - self.ran)


def measure(commands: int) -> Row:
    """The row of the bad lines."""
    tallies = {name: run(name, commands) for name in LINES}
    for name, tally in tallies.items():
        print(f"  {name}: {tally}", flush=True)
    perfect = tallies.pop("none")
    every = tallies.values()
    wrong = sum(tally.too_many + tally.too_few + tally.refused for tally in every)
    unknown = sum(tally.told_unknown + tally.told_not_sent for tally in every)
    return Row(
        f"{commands} commands: {', '.join(tallies)}",
        "each executed exactly once or reported unknown",
        f"{sum(tally.ran for tally in every)} of {commands * len(tallies)} ran once,"
        f" {unknown} reported unknown, {wrong} wrong",
        f"{perfect.ran} of {commands} (a perfect line)",
        wrong == 0 and perfect.ran == commands,
    )


def run(name: str, commands: int) -> Tally:
    """That many commands over a pair of those lines."""
    make = LINES[name]
    with one_board() as board, relay(board.port, make(11), make(12)) as path:
        tally = asyncio.run(_command(path, commands))
        tally.ran = _runs(board)
        tally.changes = len(board.changes("pump")) - 1
    return tally


def _runs(board: BoardSim) -> int:
    runs: list[int] = board.order({"get": True})["runs"]
    return runs[GPIO_WRITE]


async def _command(path: str, commands: int) -> Tally:
    tally = Tally()
    numbers = iter(range(commands))
    while tally.commands < commands:
        try:
            async with connected(path) as connection, asyncio.TaskGroup() as group:
                for _ in range(_CALLERS):
                    group.create_task(_caller(connection, numbers, tally))
        except LinkLost:
            continue  # the greeting did not get through: again
    return tally


async def _caller(connection: BoardConnection, numbers: Iterator[int], tally: Tally) -> None:
    while not connection.session.is_over and (number := next(numbers, None)) is not None:
        arguments = PINS["pump"] + bytes([(number + 1) % 2])
        try:
            await connection.call(Request(GPIO_WRITE, arguments, _DEADLINE_MS))
            tally.told_done += 1
        except OutcomeUnknown:
            tally.told_unknown += 1
        except LinkLost:
            tally.told_not_sent += 1
        except CallRefused:
            tally.refused += 1
