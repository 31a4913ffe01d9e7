import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent.net.http import HttpClient
from tests.contracts.channel import CHECKS, a_file_goes_with_an_answer
from tests.contracts.platform import Platform
from tests.fakes import (
    dingtalk_platform,
    discord_server,
    irc_server,
    lark_server,
    mail_server,
    mattermost_server,
    qq_server,
    signal_daemon,
    slack_posted_platform,
    slack_server,
    synapse,
    telegram_server,
    whatsapp_platform,
    xmpp_conversation,
)
from tests.fakes.discord_platform import DiscordPlatform
from tests.fakes.email_platform import EmailPlatform, Writer
from tests.fakes.irc_platform import IrcPlatform
from tests.fakes.irc_server import CHANNEL, Visitor
from tests.fakes.lark_platform import LarkPlatform
from tests.fakes.matrix_platform import MatrixPlatform
from tests.fakes.mattermost_platform import MattermostPlatform
from tests.fakes.qq_platform import QqPlatform
from tests.fakes.relay import Relay
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_platform import SignalPlatform
from tests.fakes.slack_platform import SlackPlatform
from tests.fakes.telegram_platform import TelegramPlatform

Check = Callable[[Platform], Awaitable[None]]


@contextlib.asynccontextmanager
async def telegram(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with telegram_server.running() as server:
        yield TelegramPlatform(server, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def signal(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with signal_daemon.running(SignalDaemon()) as daemon:
        yield SignalPlatform(daemon, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def discord(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with discord_server.running() as server:
        yield DiscordPlatform(server, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def dingtalk(folder: Path) -> AsyncIterator[Platform]:
    async with dingtalk_platform.running(folder) as made:
        yield made


@contextlib.asynccontextmanager
async def slack(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with slack_server.running() as server:
        yield SlackPlatform(server, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def slack_by_posts(folder: Path) -> AsyncIterator[Platform]:
    async with slack_posted_platform.running(folder) as made:
        yield made


@contextlib.asynccontextmanager
async def mattermost(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with mattermost_server.running() as server:
        yield MattermostPlatform(server, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def irc(folder: Path) -> AsyncIterator[Platform]:
    async with irc_server.running(folder / "ngircd") as server:
        relay, anna = Relay(server.port), Visitor("anna")
        await relay.start()
        await anna.enter(server.port, CHANNEL)
        yield IrcPlatform(relay, anna, folder)
        await anna.leave()
        await relay.stop()


@contextlib.asynccontextmanager
async def email(folder: Path) -> AsyncIterator[Platform]:
    server = mail_server.shared()
    imap, smtp = Relay(server.imap), Relay(server.smtp)
    await imap.start()
    await smtp.start()
    yield EmailPlatform(Writer(server), imap, smtp, folder)
    await imap.stop()
    await smtp.stop()


@contextlib.asynccontextmanager
async def whatsapp(folder: Path) -> AsyncIterator[Platform]:
    async with whatsapp_platform.running(folder) as made:
        yield made


@contextlib.asynccontextmanager
async def matrix(folder: Path) -> AsyncIterator[Platform]:
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = MatrixPlatform(server, relay, folder)
    yield platform
    await platform.http.aclose()
    await relay.stop()


@contextlib.asynccontextmanager
async def lark(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with lark_server.running() as server:
        yield LarkPlatform(server, http, folder)
        await http.aclose()


@contextlib.asynccontextmanager
async def xmpp(folder: Path) -> AsyncIterator[Platform]:
    async with xmpp_conversation.platform(folder) as (made, _):
        yield made


@contextlib.asynccontextmanager
async def qq(folder: Path) -> AsyncIterator[Platform]:
    http = HttpClient()
    async with qq_server.running() as server:
        yield QqPlatform(server, http, folder)
        await http.aclose()


PLATFORMS = {
    "telegram": telegram,
    "signal": signal,
    "dingtalk": dingtalk,
    "discord": discord,
    "slack": slack,
    "slack by posts": slack_by_posts,
    "mattermost": mattermost,
    "irc": irc,
    "lark": lark,
    "qq": qq,
    "email": email,
    "matrix": matrix,
    "whatsapp": whatsapp,
    "xmpp": xmpp,
}


@pytest.fixture(params=PLATFORMS)
async def platform(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Platform]:
    async with PLATFORMS[request.param](tmp_path) as made:
        yield made


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_platform(check: Check, platform: Platform) -> None:
    if reason := platform.cannot.get(check.__name__):
        pytest.skip(f"{platform.channel.name} {reason}")
    await check(platform)


async def test_a_file_goes_with_an_answer(platform: Platform, tmp_path: Path) -> None:
    if not platform.channel.abilities.takes_files:
        pytest.skip(f"{platform.channel.name} takes no files")
    await a_file_goes_with_an_answer(platform, tmp_path)
