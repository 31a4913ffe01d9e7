"""Slack by the Events API for the checks that every platform passes, and a real gateway."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

from agent.channels.keeping import Keeping
from agent.channels.ledger import Ledger
from agent.channels.place import Place
from agent.channels.pushed import Answered, Push
from agent.channels.settings import SlackSettings
from agent.channels.slack.api import SlackApi, Tokens
from agent.channels.slack.pushing import Mailbox, PushedSlackChannel
from agent.clock import SystemClock
from agent.config import Secret
from agent.dispatch.codes import Codes
from agent.dispatch.people import People
from agent.gateway import gateway
from agent.gateway.front import Shown
from agent.gateway.tokens import Tokens as GatewayTokens
from agent.http import HttpClient
from tests.fakes import slack_server
from tests.fakes.gateway import LOOPBACK, some_samples
from tests.fakes.slack_platform import SlackPlatform
from tests.fakes.slack_poster import SIGNING_SECRET, SlackPoster, posting
from tests.fakes.slack_server import BOT_TOKEN, SlackServer


class Present:
    """Pushes to the channel that there is now."""

    path = PushedSlackChannel.path
    channel: PushedSlackChannel

    def refusal(self, headers: Mapping[str, str]) -> Answered | None:
        return self.channel.refusal(headers)

    async def push(self, push: Push) -> Answered:
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

    def restarted(self) -> PushedSlackChannel:
        clock = SystemClock()
        folder = self._folder / "slack"
        place = Place(folder, Keeping(self._folder / "inbox"), lambda _: self.knows)
        api = SlackApi(Tokens(Secret(BOT_TOKEN), Secret()), self.server.url, self._http)
        mailbox = Mailbox(Secret(SIGNING_SECRET), Ledger(folder / "ledger.db", clock))
        made = PushedSlackChannel(api, self.settings, place, clock, mailbox)
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
        people, codes = People(folder / "p.json", clock), Codes(folder / "c.json", clock)
        shown = Shown(dict, some_samples)
        house = gateway.House(folder, folder / "g.db", shown, [platform.present])
        tokens = GatewayTokens("", people, codes, clock)
        made = gateway.Gateway(LOOPBACK, "", tokens, house, clock)
        async with _answering(made) as port, posting(server.world, port) as poster:
            platform.poster = poster
            yield platform
        await platform.present.channel.aclose()
        await http.aclose()
