"""A small agent that switches the led on and then only lives: `python -m ... PORT FOLDER`.

It says "on" when the board has confirmed it. Made to be killed or stopped, or by SIGUSR1 to be
blocked, as a fault of some part would.
"""

import asyncio
import contextlib
import signal
import sys
import time
from pathlib import Path

import uvloop

from agent.errors import LinkLost
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.waits import wait_until

BLOCKED_S = 5.0


async def keep_on(port: str, folder: str) -> None:
    board = SerialBoard(BoardSettings(port=port), Path(folder), SystemClock())
    running = asyncio.create_task(board.run())

    async def is_on() -> bool:
        with contextlib.suppress(LinkLost):
            await board.call("gpio_write", {"pin": "led", "value": "on"})
            return True
        return False

    await wait_until(is_on, look_s=0.02)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, BLOCKED_S)
    sys.stdout.write("on\n")
    sys.stdout.flush()
    await running


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(keep_on(*sys.argv[1:]))
