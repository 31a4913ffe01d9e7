"""A whole agent with a bot and a model that answers at once, and the same two calls without it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx
import msgspec

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app import build
from agent.app.channels import open_channels
from agent.channels.platform import PlatformContext
from agent.messaging.channel_supervisor import Supervisor
from agent.providers.base import ChatRequest, ChatResponse, Provider
from agent.settings import Paths, Settings
from tests.fakes import telegram_server
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA

ANSWER = "The lamp is on, and everything else is as it should be."
PEOPLE = 8
_POLL_S = 25.0


class InstantProvider(Provider):
    """Answers at once."""

    name = "instant"

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(ANSWER)


@dataclass(frozen=True)
class Both:
    """The platform of the agent, and one for bare calls.

    Args:
        people: who is let in.
    """

    agents: TelegramServer
    own: TelegramServer
    client: httpx.AsyncClient
    people: list[int]
    _offset: list[int]

    async def bare(self) -> None:
        """One poll and one sending."""
        url = f"{self.own.base_url}/bot{self.own.token}"
        asked = {"offset": self._offset[0], "timeout": 20, "limit": 100}
        found = (await self.client.post(f"{url}/getUpdates", json=asked)).json()["result"]
        self._offset[0] = found[-1]["update_id"] + 1
        await self.client.post(f"{url}/sendMessage", json={"chat_id": ANNA, "text": ANSWER})


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Both]:
    """Everything at work until the block ends."""
    async with (
        telegram_server.running() as agents,
        telegram_server.running() as own,
        httpx.AsyncClient(timeout=60) as client,
    ):
        agents.longest_poll_s = own.longest_poll_s = _POLL_S
        people = [ANNA, *(ANNA + number for number in range(1, PEOPLE))]
        async with _agent(folder, agents, people):
            yield Both(agents, own, client, people, [0])


@contextlib.asynccontextmanager
async def _agent(folder: Path, server: TelegramServer, people: list[int]) -> AsyncIterator[None]:
    settings = _settings(server)
    made = build.assemble(settings, Paths(None, folder), {}, sys.stderr)
    agent = replace(made, providers=replace(made.providers, provider=InstantProvider()))
    for number in people:
        account = PersonAccount(channel="telegram", sender=f"{number}", target=f"{number}")
        rank = PersonRole.OWNER if number == ANNA else PersonRole.USER
        agent.access.people.let_in(rank, account, f"p{number}")
    reach = PlatformContext(agent.paths, {}, agent.http, agent.clock)
    channels = open_channels(settings, reach)
    async with build.at_work(agent, channels) as (dispatcher, _, tasks):
        for channel in channels:
            supervisor = Supervisor(channel, agent.clock, agent.activity, _nobody)
            tasks.create_task(supervisor.run(partial(dispatcher.deliver, tasks=tasks)))
        yield
        await asyncio.gather(*(channel.aclose() for channel in channels))


async def _nobody(_channel: str, _text: str) -> None:
    """Receive a message and ignore it."""


def _settings(server: TelegramServer) -> Settings:
    return msgspec.convert(
        {
            "memory": {"consolidate": False},
            "embeddings": {"provider": "none"},
            "log": {"level": "error"},
            "channels": {"telegram": {"base_url": server.base_url, "token": server.token}},
        },
        Settings,
        dec_hook=_secret,
    )


def _secret(kind: type, value: object) -> object:
    return kind(value)
