"""Conversations over a real homeserver: Anna in a chat of two, by a cable that can be pulled."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from tests.fakes import element_program, synapse
from tests.fakes.matrix_platform import MatrixPlatform
from tests.fakes.matrix_sealed_platform import SealedMatrixPlatform
from tests.fakes.relay import Relay


class MatrixTalk:
    """Anna's chat with the agent."""

    def __init__(self, platform: MatrixPlatform, relay: Relay, login: str) -> None:
        self._platform = platform
        self.table = f'[channels.matrix]\nbase_url = "http://127.0.0.1:{relay.port}"\n{login}\n'
        self.account = PersonAccount(
            channel="matrix", sender=platform.anna.id, target=platform.chat
        )

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
    yield MatrixTalk(platform, relay, f'token = "{platform.agent.token}"')
    await platform.http.aclose()
    await relay.stop()


@contextlib.asynccontextmanager
async def sealed_matrix(folder: Path) -> AsyncIterator[MatrixTalk]:
    """The same in an encrypted room, by a login of the agent's own."""
    if reason := element_program.absence():
        pytest.skip(reason)
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = await asyncio.to_thread(SealedMatrixPlatform, server, relay, folder)
    try:
        yield MatrixTalk(platform, relay, f'user = "{platform.agent.id}"\npassword = "password"')
    finally:
        platform.element.close()
        await platform.http.aclose()
        await relay.stop()
