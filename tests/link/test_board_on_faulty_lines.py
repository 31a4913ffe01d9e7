import asyncio
from pathlib import Path

import pytest

from agent.errors import LinkLost, OutcomeUnknown
from agent.link.base import BoardState
from tests.fakes.linked_board import LinkedBoard, ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import (
    DuplicatingPort,
    FakePort,
    LossyPort,
    NoisePort,
    OneByteAtATimePort,
    ReorderingPort,
    SlowPort,
)
from tests.fakes.virtual_time import in_virtual_time

COMMANDS = 500
CALLERS = 3


class Tally:
    """What callers were told of their commands."""

    done = 0
    unknown = 0

    async def pulse(self, link: LinkedBoard) -> None:
        """One command, asked again only while it certainly was not sent."""
        while True:
            try:
                await link.board.call("pulse", {"pin": "led"})
            except LinkLost:
                await link.until(BoardState.READY)
            except OutcomeUnknown:
                self.unknown += 1
                return
            else:
                self.done += 1
                return

    async def pulses(self, link: LinkedBoard, count: int) -> None:
        for _ in range(count):
            await self.pulse(link)


@pytest.mark.parametrize(
    "port",
    [
        FakePort,
        LossyPort,
        DuplicatingPort,
        ReorderingPort,
        OneByteAtATimePort,
        NoisePort,
        SlowPort,
    ],
)
def test_each_command_is_run_exactly_once_or_reported_unknown(
    tmp_path: Path, port: type[FakePort]
) -> None:
    tally, board = Tally(), ScriptedBoard()

    @in_virtual_time
    async def command() -> None:
        async with ready(tmp_path, port, board) as (link, _board):
            await tally.pulses(link, COMMANDS)

    command()
    assert tally.done + tally.unknown == COMMANDS
    assert tally.done <= board.pulses <= tally.done + tally.unknown
    assert tally.unknown <= COMMANDS // 50


@pytest.mark.parametrize("port", [LossyPort, DuplicatingPort, ReorderingPort, NoisePort])
def test_a_full_window_keeps_the_same_promise(tmp_path: Path, port: type[FakePort]) -> None:
    tally, board = Tally(), ScriptedBoard()

    @in_virtual_time
    async def command() -> None:
        async with ready(tmp_path, port, board) as (link, _board), asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(tally.pulses(link, COMMANDS // CALLERS))

    command()
    assert tally.done <= board.pulses <= tally.done + tally.unknown
