"""Slack by the Events API for the checks that every platform passes, and a real gateway."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

from agent.access.pairing_codes import Codes
from agent.access.people import PeopleStore
from agent.channels.context import ChannelContext
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import SlackSettings
from agent.channels.slack.client import SlackApi, SlackTokens
from agent.channels.slack.events_api import EventsApiChannel, EventsApiParts
from agent.config import Secret
from agent.gateway import gateway
from agent.gateway.application import StatusSources
from agent.gateway.tokens import GatewayTokens
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes import slack_server
from tests.fakes.gateway import LOOPBACK, some_samples
from tests.fakes.slack_platform import SlackPlatform
from tests.fakes.slack_poster import SIGNING_SECRET, SlackPoster, posting
from tests.fakes.slack_server import BOT_TOKEN, SlackServer


class Present:
    """Pushes to the channel that there is now."""

    path = EventsApiChannel.path
    channel: EventsApiChannel

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return self.channel.refusal(headers)

    async def push(self, push: PushRequest) -> PushAnswer:
        return await self.channel.push(push)


class SlackPostedPlatform(SlackPlatform):
    """One app without connections of its own, and Anna."""

    cannot: Mapping[str, str] = MappingProxyType(
        {"the_pulse_tells_when_the_platform_was_heard": "is silent while nobody writes"}
    )
    poster: SlackPoster

    def __init__(
        self, server: SlackServer, http: HttpClient, folder: Path, settings: SlackSettings
    ) -> None:
        self.present = Present()
        self.settings = settings
        self.knows = True
        super().__init__(server, http, folder)

    def restarted(self) -> EventsApiChannel:
        clock = SystemClock()
        folder = self._folder / "slack"
        place = ChannelContext(folder, ReceivedFiles(self._folder / "inbox"), lambda _: self.knows)
        api = SlackApi(SlackTokens(Secret(BOT_TOKEN), Secret()), self.server.url, self._http)
        mailbox = EventsApiParts(Secret(SIGNING_SECRET), PushLedger(folder / "ledger.db", clock))
        made = EventsApiChannel(api, self.settings, place, clock, mailbox)
        self.present.channel = made
        return made

    def cut_listening(self) -> None:
        """Each post has a connection of its own."""


@contextlib.asynccontextmanager
async def _answering(made: gateway.Gateway) -> AsyncIterator[int]:
    """The port that it answers at."""
    task = asyncio.ensure_future(made.run())
    try:
        yield made.port
    finally:
        task.cancel()
        await asyncio.wait([task])


@contextlib.asynccontextmanager
async def running(
    folder: Path, settings: SlackSettings | None = None
) -> AsyncIterator[SlackPostedPlatform]:
    http, clock = HttpClient(), SystemClock()
    async with slack_server.running() as server:
        platform = SlackPostedPlatform(server, http, folder, settings or SlackSettings())
        people, codes = PeopleStore(folder / "p.json", clock), Codes(folder / "c.json", clock)
        shown = StatusSources(dict, some_samples)
        house = gateway.GatewayParts(folder, folder / "g.db", shown, [platform.present])
        tokens = GatewayTokens("", people, codes, clock)
        made = gateway.Gateway(LOOPBACK, "", tokens, house, clock)
        async with _answering(made) as port, posting(server.world, port) as poster:
            platform.poster = poster
            yield platform
        await platform.present.channel.aclose()
        await http.aclose()
