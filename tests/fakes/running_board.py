"""The agent's board on a simulated one, running: both ends are real, and so is the time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.discovery import Ports
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.board_sim import BoardSim
from tests.waits import wait_until


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
    await wait_until(lambda: board.status.state in states)


async def under_way(board: SerialBoard, count: int) -> None:
    """Wait until so many calls have been sent and have no answer yet."""

    def are_sent() -> bool:
        live = board._live
        pending = live.connection._pending.values() if live else ()
        return sum(one.frame.was_sent for one in pending) >= count

    await wait_until(are_sent)


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
