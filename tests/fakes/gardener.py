"""A small agent that teaches a board reflexes and holds its led: `python -m ... PORT FOLDER`.

It reads the rules as JSON and says "taught" when the board has confirmed both. Made to be killed.
"""

import asyncio
import json
import sys
from pathlib import Path

import uvloop

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.messages import Provenance
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.tools.reflex import ReflexTools
from tests.waits import wait_until

CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)


async def teach(port: str, folder: str) -> None:
    board = SerialBoard(BoardSettings(port=port), Path(folder), SystemClock())
    running = asyncio.create_task(board.run())
    await wait_until(lambda: board.status.state is BoardState.READY)
    for rule in json.loads(sys.stdin.readline()):
        await add(board, rule)
    await board.call("gpio_write", {"pin": "led", "value": "on"})
    sys.stdout.write("taught\n")
    sys.stdout.flush()
    await running


async def add(board: SerialBoard, rule: object) -> None:
    adding = next(tool for tool in ReflexTools(board).tools() if tool.name == "reflex_add")
    result = await adding.execute(adding.parse(json.dumps(rule)), CONTEXT)
    if not result.success:
        sys.exit(result.text)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(teach(*sys.argv[1:]))
