"""A small agent that switches the led on and then only lives: `python -m ... PORT FOLDER`.

It says "on" when the board has confirmed it. Made to be killed or stopped.
"""

import asyncio
import sys
from pathlib import Path

import uvloop

from agent.clock import SystemClock
from agent.errors import LinkLost
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings


async def keep_on(port: str, folder: str) -> None:
    board = SerialBoard(BoardSettings(port=port), Path(folder), SystemClock())
    running = asyncio.create_task(board.run())
    while True:
        try:
            await board.call("gpio_write", {"pin": "led", "value": "on"})
            break
        except LinkLost:
            await asyncio.sleep(0.02)
    sys.stdout.write("on\n")
    sys.stdout.flush()
    await running


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(keep_on(*sys.argv[1:]))
