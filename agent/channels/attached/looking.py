"""Look at a running agent over the socket of its terminals; nobody attaches by it."""

import asyncio
from pathlib import Path

from agent.channels.attached.frames import (
    MAX_SHOWN_FRAME_BYTES,
    VERSION,
    Bye,
    Hello,
    Welcome,
    encoded,
    from_agent,
)
from agent.channels.attached.place import connected
from agent.channels.attached.wire import Wire
from agent.errors import ChannelRefused, ChannelUnavailable

# An agent that is well answers in milliseconds; one that is busy starting, in some seconds
LOOK_TIMEOUT_S = 5.0


async def look(path: Path) -> Welcome:
    """Return the agent's welcome.

    Raises:
        ChannelRefused: it is not for us, or it speaks another version.
        ChannelUnavailable: nobody listens there.
        TimeoutError: somebody does, and does not answer.
    """
    wire = Wire(await asyncio.to_thread(connected, path), MAX_SHOWN_FRAME_BYTES)
    try:
        async with asyncio.timeout(LOOK_TIMEOUT_S):
            await wire.send(encoded(Hello(VERSION, plain=True, looks=True)))
            line = await wire.receive()
    finally:
        wire.close()
    match from_agent(line) if line is not None else None:
        case Welcome() as welcome:
            return welcome
        case Bye(text):
            raise ChannelRefused(text)
        case _:
            raise ChannelUnavailable("the agent ended while it was asked")
