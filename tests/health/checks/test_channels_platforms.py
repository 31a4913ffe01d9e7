import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

import pytest
from msgspec.structs import replace

from agent.channels.catalog import configured
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, SignalSettings, TelegramSettings
from agent.config import Secret
from agent.health import doctor
from agent.health.base import Finding, Level, Patient
from agent.health.checks import channels as platforms
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import signal_daemon, telegram_server
from tests.fakes.signal_daemon import NUMBER, SignalDaemon
from tests.fakes.telegram_server import TelegramServer


async def found(patient: Patient, channels: ChannelsSettings) -> Finding:
    http = HttpClient()
    reach = PlatformContext(Paths(None, patient.state_dir), {}, http, SystemClock())
    (platform,) = configured(channels)
    probe = partial(platform.identify, channels, reach)
    looked_at = replace(patient, platforms={platform.name: probe})
    try:
        return await platforms.platform_checks(looked_at)[platform.name](looked_at)
    finally:
        await http.aclose()


def signal(url: str, account: str = "") -> ChannelsSettings:
    return ChannelsSettings(signal=SignalSettings(base_url=url, account=account))


def telegram(server: TelegramServer, **changed: str) -> ChannelsSettings:
    wanted = {"base_url": server.base_url, "token": server.token} | changed
    settings = TelegramSettings(base_url=wanted["base_url"], token=Secret(wanted["token"]))
    return ChannelsSettings(telegram=settings)


@contextlib.asynccontextmanager
async def daemon(served: SignalDaemon) -> AsyncIterator[str]:
    async with signal_daemon.running(served):
        yield served.url


async def test_nobody_has_to_have_one(patient: Patient) -> None:
    assert platforms.platform_checks(patient) == {}


async def test_one_that_does_not_answer_is_told_before_the_check_ends(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs() -> str:
        await asyncio.Event().wait()
        return "never"

    assert platforms.ANSWER_TIMEOUT_S < doctor.CHECK_TIMEOUT_S
    monkeypatch.setattr(platforms, "ANSWER_TIMEOUT_S", 0.01)
    looked_at = replace(patient, platforms={"irc": hangs})
    finding = await platforms.platform_checks(looked_at)["irc"](looked_at)
    assert finding.level is Level.WARNING
    assert "is the network up" in finding.sentence


@pytest.mark.parametrize(
    ("served", "named"),
    [(SignalDaemon(), NUMBER), (SignalDaemon(is_single=True), "its only account")],
)
async def test_a_daemon_with_the_account_is_fine(
    patient: Patient, served: SignalDaemon, named: str
) -> None:
    async with daemon(served) as url:
        finding = await found(patient, signal(url))
    assert finding == Finding.ok(f"signal-cli 0.13.19 is there with {named}")


async def test_a_daemon_that_is_away_is_a_warning_that_says_how_to_start_it(
    patient: Patient,
) -> None:
    finding = await found(patient, signal("http://127.0.0.1:1"))
    assert finding.level is Level.WARNING
    assert "start it with `signal-cli daemon --http`" in finding.sentence


async def test_an_account_that_is_not_there_has_failed(patient: Patient) -> None:
    async with daemon(SignalDaemon(accounts=[])) as url:
        finding = await found(patient, signal(url, NUMBER))
    assert finding.level is Level.FAILED
    assert "barnacle signal link" in finding.sentence


async def test_a_bot_that_is_known_is_fine_and_nobody_is_disturbed(patient: Patient) -> None:
    async with telegram_server.running() as server:
        finding = await found(patient, telegram(server))
        assert finding.level is Level.OK
        assert finding.sentence.startswith("@barnacle_bot is there; in groups")
        assert not server.called("getUpdates")


async def test_a_webhook_keeps_everything_away_and_is_said(patient: Patient) -> None:
    async with telegram_server.running() as server:
        server.world.webhook = "https://example.org/hook"
        finding = await found(patient, telegram(server))
        assert finding.level is Level.FAILED
        assert "@barnacle_bot has a webhook" in finding.sentence


async def test_a_token_that_nobody_knows_is_said_and_not_repeated(patient: Patient) -> None:
    async with telegram_server.running() as server:
        finding = await found(patient, telegram(server, token="1:other"))
        assert finding.level is Level.FAILED
        assert "check the token" in finding.sentence
        assert "1:other" not in finding.sentence


async def test_a_platform_that_is_not_reached_is_a_warning(patient: Patient) -> None:
    async with telegram_server.running() as server:
        gone = telegram(server, base_url="http://127.0.0.1:1")
        assert (await found(patient, gone)).level is Level.WARNING


async def test_a_bot_without_a_token_has_failed_with_what_to_do(patient: Patient) -> None:
    finding = await found(patient, ChannelsSettings(telegram=TelegramSettings()))
    assert finding.level is Level.FAILED
    assert "ask @BotFather" in finding.sentence
