"""Probe of a port: the board's identity, or a sentence why there is none.

Greets, and so begins a session: only for a port that no agent has open.
"""

from agent.clock import Clock
from agent.errors import LinkError
from agent.link.connection import Connection
from agent.link.port import open_port


async def what_is_at(path: str, baud: int, clock: Clock) -> str:
    """Half a sentence for a person."""
    try:
        port = await open_port(path, baud)
        async with Connection(port, clock) as connection:
            identity = (await connection.greet()).identity
    except LinkError as err:
        return str(err)
    return f"{identity.board}, firmware {identity.firmware} (build {identity.build})"
