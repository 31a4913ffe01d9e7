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

from agent.app.build import assemble, at_work
from agent.app.channels import open_channels
from agent.channels.base import Channel
from agent.channels.platform import PlatformContext
from agent.link.base import BoardState
from agent.messaging.channel_supervisor import Supervisor
from agent.settings import surroundings
from agent.system import crash_points
from tests.fakes.loopback import LoopbackChannel
from tests.waits import wait_until


async def main(config: str, state: str, socket: str, point: str) -> None:
    """Until it is killed."""
    settings, paths = surroundings(os.environ, config, state)
    agent = assemble(settings, paths, os.environ, sys.stderr)
    reach = PlatformContext(paths, os.environ, agent.http, agent.clock)
    channels: Sequence[Channel] = (
        open_channels(settings, reach)
        if socket == "-"
        else [LoopbackChannel(Path(socket), agent.clock, paths.state_dir / "offset")]
    )
    crash_points.arm(partial(_die_at, point))
    async with AsyncExitStack() as stack:
        dispatcher, _, tasks = await stack.enter_async_context(at_work(agent, channels))
        await wait_until(lambda: agent.boards[0].status.state is BoardState.READY)
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
