from dataclasses import replace
from functools import partial

import pytest

from agent.channels.settings import TelegramSettings
from agent.channels.telegram.probing import probe
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.health.base import Level, Patient
from agent.health.checks import telegram
from agent.http import HttpClient
from agent.reaching import telegram_api
from tests.fakes.telegram_server import TelegramServer, running


async def looked_at(patient: Patient, server: TelegramServer) -> tuple[Level, str]:
    http = HttpClient()
    settings = TelegramSettings(token=Secret(server.token), base_url=server.base_url)
    probing = partial(probe, telegram_api(settings, {}, http))
    finding = await telegram.check(replace(patient, probe_telegram=probing))
    await http.aclose()
    return finding.level, finding.sentence


async def test_nobody_has_to_have_it(patient: Patient) -> None:
    finding = await telegram.check(patient)
    assert finding.level is Level.OK
    assert "[channels.telegram]" in finding.sentence


async def test_a_bot_that_is_known_is_fine_and_nobody_is_disturbed(patient: Patient) -> None:
    async with running() as server:
        level, sentence = await looked_at(patient, server)
        assert level is Level.OK
        assert sentence.startswith("@barnacle_bot is there; in groups")
        assert not server.called("getUpdates")


async def test_a_webhook_keeps_everything_away_and_is_said(patient: Patient) -> None:
    async with running() as server:
        server.world.webhook = "https://example.org/hook"
        level, sentence = await looked_at(patient, server)
        assert (level, "a webhook is set for @barnacle_bot" in sentence) == (Level.FAILED, True)


async def test_a_token_that_nobody_knows_is_said(patient: Patient) -> None:
    async with running() as server:
        token, server.token = server.token, "1:other"
        known = TelegramServer(server.world, server.methods, server.base_url, token)
        level, sentence = await looked_at(patient, known)
        assert (level, "check the token" in sentence) == (Level.FAILED, True)
        assert token not in sentence


async def test_a_platform_that_is_not_reached_is_a_warning(patient: Patient) -> None:
    async with running() as server:
        gone = TelegramServer(server.world, server.methods, "http://127.0.0.1:1", server.token)
        assert (await looked_at(patient, gone))[0] is Level.WARNING


def test_a_missing_token_is_refused() -> None:
    with pytest.raises(ConfigRefused, match="BotFather"):
        telegram_api(TelegramSettings(), {}, HttpClient())
