"""A conversation over a real homeserver: Anna in a chat of two, by a cable that can be pulled."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.dispatch.people import Account
from tests.fakes import synapse
from tests.fakes.matrix_platform import MatrixPlatform
from tests.fakes.relay import Relay


class MatrixTalk:
    """Anna's chat with the agent."""

    def __init__(self, platform: MatrixPlatform, relay: Relay) -> None:
        self._platform = platform
        self.table = (
            f'[channels.matrix]\nbase_url = "http://127.0.0.1:{relay.port}"\n'
            f'token = "{platform.agent.token}"\n'
        )
        self.account = Account(channel="matrix", sender=platform.anna.id, target=platform.chat)

    async def write(self, text: str) -> None:
        await self._platform.write(text)

    def shown(self) -> list[str]:
        return self._platform.said(self._platform.chat)

    def cut(self) -> None:
        self._platform.cut_listening()


@contextlib.asynccontextmanager
async def matrix(folder: Path) -> AsyncIterator[MatrixTalk]:
    """On Synapse."""
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = MatrixPlatform(server, relay, folder)
    yield MatrixTalk(platform, relay)
    await platform.http.aclose()
    await relay.stop()
