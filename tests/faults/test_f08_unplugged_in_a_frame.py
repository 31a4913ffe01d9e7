"""F08: unplugged in the middle of a frame."""

import asyncio
from pathlib import Path

import pytest

from agent.errors import LinkLost, OutcomeUnknown
from agent.link import frame as wire
from agent.link.base import BoardState
from tests.fakes.board_sim import BoardSim
from tests.fakes.linked_board import ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import CutPort
from tests.fakes.running_board import running, until
from tests.fakes.virtual_time import LoopClock, in_virtual_time

# A write of a pin, its delimiters included
FRAME_BYTES = 18
AT_ONCE_S = 0.05


@pytest.mark.parametrize("cut_after", range(FRAME_BYTES + 1))
def test_calls_fail_at_once_and_the_next_connection_begins_with_a_greeting(
    tmp_path: Path, cut_after: int
) -> None:
    board = ScriptedBoard()

    @in_virtual_time
    async def pull() -> None:
        async with ready(tmp_path, CutPort, board) as (link, _):
            port = link.ports.opened[-1]
            assert isinstance(port, CutPort)
            port.bytes_left = max(1, cut_after)
            asked_s = LoopClock().monotonic_s()
            with pytest.raises((LinkLost, OutcomeUnknown)):
                await link.board.call("pulse", {"pin": "led"})
            assert LoopClock().monotonic_s() - asked_s < AT_ONCE_S
            heard = len(board.frames)
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert board.frames[heard].kind == wire.HELLO
            pulses = board.pulses
            await link.board.call("pulse", {"pin": "led"})
            assert board.pulses == pulses + 1
            assert pulses <= 1

    pull()


async def test_a_cable_that_is_pulled_leaves_outputs_safe_and_comes_back(
    sim: BoardSim, tmp_path: Path
) -> None:
    async with running(sim, tmp_path) as board:
        for _ in range(3):
            await board.call("gpio_write", {"pin": "led", "value": "on"})
            sim.kill()
            await until(board, BoardState.ABSENT, BoardState.CONNECTING)
            with pytest.raises(LinkLost):
                await board.call("gpio_read", {"pin": "led"})
            await asyncio.to_thread(sim.start)
            await until(board, BoardState.READY)
            assert sim.value("led") == 0
            assert await board.call("gpio_read", {"pin": "led"}) == {"value": "off"}
