"""The device's name and the names by which its console may be called, as the agent says them."""

import asyncio
import contextlib
import socket
from collections.abc import Collection

from agent.channels.console.frames import DeviceFrame
from agent.console.agent_client import AgentClient
from agent.errors import ChannelError

# What a console is called whose agent is away
NAME = "Barnacle"
# How long its names count: an agent that was started again may have others
FRESH_S = 5.0


class DeviceNames:
    """Names; asked for again, as the agent may be started with other ones while this goes on."""

    def __init__(self, client: AgentClient, known: DeviceFrame | None = None) -> None:
        self._client = client
        self._known = known
        self._fresh_until_s = 0.0
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
        now_s = asyncio.get_running_loop().time()
        if self._known is None or now_s >= self._fresh_until_s:
            self._fresh_until_s = now_s + FRESH_S
            # Those of an agent that is away count on
            with contextlib.suppress(ChannelError):
                self._known = await self._client.about()
        hosts = self._known.hosts if self._known else ()
        return self._own | {host.lower() for host in hosts}
