"""A small agent that keeps a lamp on until something happens to it; forked for every trial.

It is the agent's own link, with a port, a loop and leases; only the ways to end it are added.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

from agent.errors import LinkError
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock

# Asked to close its port, or to block its loop as a careless tool would
CLOSE = signal.SIGUSR1
BLOCK = signal.SIGUSR2
# Longer than any lease that is tried
BLOCKED_S = 15.0
_AGAIN_S = 0.02


def fork(port: Path, folder: Path) -> tuple[int, int]:
    """Start one; its process and a pipe that says "+" once the board has confirmed the lamp."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        asyncio.run(_keep_on(str(port), folder, writing))
    finally:
        os._exit(1)


async def _keep_on(port: str, folder: Path, confirmed: int) -> None:
    board = SerialBoard(BoardSettings(port=port), folder, SystemClock())
    running = asyncio.create_task(board.run())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(CLOSE, running.cancel)
    loop.add_signal_handler(BLOCK, time.sleep, BLOCKED_S)
    while True:
        try:
            await board.call("gpio_write", {"pin": "led", "value": "on"})
            break
        except LinkError:
            await asyncio.sleep(_AGAIN_S)
    os.write(confirmed, b"+")
    await asyncio.wait([running])
    # The port is closed and the process lives on
    await asyncio.sleep(BLOCKED_S)
