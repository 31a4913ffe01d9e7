import asyncio
from pathlib import Path

import pytest

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.contracts.board import check_board
from tests.fakes.board import FakeBoard
from tests.fakes.board_sim import BoardSim
from tests.fakes.linked_board import ready
from tests.fakes.virtual_time import in_virtual_time
from tests.waits import wait_until


async def test_the_fake_board() -> None:
    board = FakeBoard()

    async def unplug() -> None:
        board.unplug()

    await check_board(board, unplug)


@in_virtual_time
async def test_a_serial_board_with_a_scripted_one_behind_it(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, _scripted):

        async def unplug() -> None:
            link.ports.unplug()
            await link.until(BoardState.CONNECTING)

        await check_board(link.board, unplug)


@pytest.mark.usefixtures("micropython_command")
async def test_a_serial_board_with_the_firmware_behind_it(tmp_path: Path) -> None:
    with BoardSim(tmp_path) as sim:
        board = SerialBoard(BoardSettings(port=str(sim.port)), tmp_path, SystemClock())
        running = asyncio.create_task(board.run())

        async def until(*, ready: bool) -> None:
            await wait_until(lambda: (board.status.state is BoardState.READY) is ready)

        async def unplug() -> None:
            sim.kill()
            await until(ready=False)

        await until(ready=True)
        await check_board(board, unplug)
        running.cancel()
        await asyncio.wait([running])
