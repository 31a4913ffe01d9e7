"""A whole agent with voice assistants, as a process that ends at a crash point; its owner says yes.

`python -m tests.fakes.killed_voice_agent <config> <state folder> <point>`. An empty point ends
nowhere.
"""

import asyncio
import os
import sys
from functools import partial

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.build import assemble, at_work
from agent.app.run import _assistants
from agent.channels.base import Answer
from agent.link.base import BoardState
from agent.settings import surroundings
from agent.system import crash_points
from tests.fakes.channel import AskedChannel
from tests.fakes.killed_agent import _die_at
from tests.waits import wait_until


async def main(config: str, state: str, point: str) -> None:
    """Until it is killed."""
    settings, paths = surroundings(os.environ, config, state)
    agent = assemble(settings, paths, os.environ, sys.stderr)
    owner = AskedChannel(Answer.YES)
    if not agent.access.people.everyone():
        chat = PersonAccount(channel=owner.name, sender="owner", target="chat")
        agent.access.people.let_in(PersonRole.OWNER, chat)
        room = PersonAccount(channel="wyoming", sender="127.0.0.1", target="")
        agent.access.people.let_in(PersonRole.GUEST, room, "room")
    channels = (owner, *_assistants(agent))
    crash_points.arm(partial(_die_at, point))
    async with at_work(agent, channels) as (dispatcher, _, tasks):
        await wait_until(lambda: agent.boards[0].status.state is BoardState.READY)
        await dispatcher.resume(tasks)
        deliver = partial(dispatcher.deliver, tasks=tasks)
        for channel in channels:
            tasks.create_task(channel.listen(deliver))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
