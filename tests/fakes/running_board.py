"""The agent's board on a simulated one, running: both ends are real, and so is the time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.clock import SystemClock
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.discovery import Ports
from agent.link.settings import BoardSettings
from tests.fakes.board_sim import BoardSim

# Every state comes in milliseconds; a busy machine may need longer
PATIENCE_S = 30.0


@contextlib.asynccontextmanager
async def running(
    sim: BoardSim, folder: Path, ports: Ports | None = None
) -> AsyncIterator[SerialBoard]:
    board = SerialBoard(BoardSettings(port=str(sim.port)), folder, SystemClock(), ports)
    task = asyncio.create_task(board.run())
    try:
        await until(board, BoardState.READY)
        yield board
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(board: SerialBoard, *states: BoardState) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while board.status.state not in states:  # noqa: ASYNC110 - a status has no event
            await asyncio.sleep(0.002)


@contextlib.asynccontextmanager
async def frozen(sim: BoardSim, duration_ms: int) -> AsyncIterator[None]:
    """The firmware hangs for so long; ordering it takes as long."""
    order = asyncio.create_task(asyncio.to_thread(sim.order, {"freeze_ms": duration_ms}))
    # Until the order has arrived
    await asyncio.sleep(0.05)
    try:
        yield
    finally:
        await asyncio.wait([order])
        # A board that was pulled out does not answer any more
        order.exception()
