"""A whole agent as a process that ends at a crash point, as if the power had gone.

`python -m tests.fakes.killed_agent <config> <state folder> <socket> <point>`; the socket is that of
a loopback platform, or `-` where the configuration names platforms. An empty point ends nowhere.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from agent import crash, reaching
from agent.app import assemble, at_work
from agent.channels.base import Channel
from agent.dispatch.supervisor import Supervisor
from agent.link.base import BoardState
from agent.platforms.base import Reach
from agent.settings import surroundings
from tests.fakes.loopback import LoopbackChannel

# The board of the machine is there; without it every answer would be another one
_BOARD_LIMIT_S = 10.0


async def main(config: str, state: str, socket: str, point: str) -> None:
    """Until it is killed."""
    settings, paths = surroundings(os.environ, config, state)
    agent = assemble(settings, paths, os.environ, sys.stderr)
    reach = Reach(paths, os.environ, agent.http, agent.clock)
    channels: Sequence[Channel] = (
        reaching.open_channels(settings, reach)
        if socket == "-"
        else [LoopbackChannel(Path(socket), agent.clock, paths.state_dir / "offset")]
    )
    crash.arm(partial(_die_at, point))
    async with AsyncExitStack() as stack:
        dispatcher, _, tasks = await stack.enter_async_context(at_work(agent, channels))
        async with asyncio.timeout(_BOARD_LIMIT_S):
            while agent.boards[0].status.state is not BoardState.READY:  # noqa: ASYNC110 - real hardware
                await asyncio.sleep(0.02)
        await dispatcher.resume(tasks)
        for channel in channels:
            supervisor = Supervisor(channel, agent.clock, agent.activity, _nobody)
            tasks.create_task(supervisor.run(partial(dispatcher.deliver, tasks=tasks)))
        await asyncio.Event().wait()


def _die_at(point: str, passed: str) -> None:
    if passed == point:
        os.kill(os.getpid(), signal.SIGKILL)


async def _nobody(_channel: str, _text: str) -> None:
    """Is told."""


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
