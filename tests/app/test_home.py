import logging
from collections.abc import Mapping

import pytest

from agent.app import home
from agent.app.providers import secrets
from agent.config import Secret
from agent.errors import ConfigRefused, NetworkError
from agent.net.http import HttpClient
from agent.settings import Settings
from agent.tools.settings import HomeAssistantSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.home_assistant import BASE, TOKEN, FakeHome


def settings(
    entities: Mapping[str, str] | None = None, *, token: str = TOKEN
) -> HomeAssistantSettings:
    wanted = entities or {"light.*": "actuate"}
    return HomeAssistantSettings(base_url=BASE, token=Secret(token), entities=wanted)  # type: ignore[arg-type]


def test_the_token_is_a_credential_and_is_kept_out_of_texts() -> None:
    named = {"BARNACLE_HOME_ASSISTANT_TOKEN": "from-the-environment"}
    assert home.home_token(settings(token=""), named) == Secret("from-the-environment")
    known = [one.reveal() for one in secrets(Settings(home_assistant=settings()), {})]
    assert TOKEN in known


def test_without_a_token_there_are_no_tools_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted = settings(token="")
    with caplog.at_level(logging.ERROR):
        assert home.tools_of(wanted, {}, HttpClient(), SteppedClock()) == []
    assert "home_assistant has no token" in caplog.text
    names = [one.name for one in home.tools_of(settings(), {}, HttpClient(), SteppedClock())]
    assert names == ["home_list", "home_state", "home_call"]


async def test_doctor_names_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    there = FakeHome().client
    monkeypatch.setattr(home, "open_home", lambda *_: there)
    told = await home.probe(settings({"light.*": "actuate", "sensor.t": "read"}), {})
    assert told == "homeassistant.local:8123 takes the token; 2 of its 3 entities are allowed"
    with pytest.raises(ConfigRefused, match=r"knows no light\.gone"):
        await home.probe(settings({"light.gone": "actuate"}), {})


async def test_doctor_says_when_nobody_answers() -> None:
    nowhere = HomeAssistantSettings(
        base_url="http://127.0.0.1:9", token=Secret(TOKEN), entities={"light.*": "read"}
    )
    with pytest.raises(NetworkError, match="could not be reached"):
        await home.probe(nowhere, {})
