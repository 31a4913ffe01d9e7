"""The device's name and the names by which its console may be called, as the agent says them."""

import socket
from collections.abc import Collection

from agent.channels.console.frames import DeviceFrame
from agent.console.agent_client import AgentClient
from agent.errors import ChannelError

# What a console is called whose agent is away
NAME = "Barnacle"


class DeviceNames:
    """Names; asked for again while the agent has not been there."""

    def __init__(self, client: AgentClient, known: DeviceFrame | None = None) -> None:
        self._client = client
        self._known = known
        own = socket.gethostname().lower()
        self._own = frozenset({own, f"{own.partition('.')[0]}.local"})

    @property
    def name(self) -> str:
        return self._known.name if self._known else NAME

    @property
    def certificate(self) -> str:
        return self._known.certificate if self._known else ""

    async def hosts(self) -> Collection[str]:
        """Return the names in lower case; a number and localhost are allowed besides."""
        if self._known is None:
            try:
                self._known = await self._client.about()
            except ChannelError:
                return self._own
        return self._own | {host.lower() for host in self._known.hosts}
