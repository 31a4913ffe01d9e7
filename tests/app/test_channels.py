from pathlib import Path

import msgspec
import pytest

from agent.app.channels import open_channels, secrets
from agent.channels.platform import COMMANDS, PlatformContext
from agent.channels.settings import ChannelsSettings, TelegramSettings
from agent.channels.speech_settings import SpeechSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock

TOKEN = "123456:AAE-a_token-of-the-tests"


def configured(**telegram: object) -> Settings:
    wanted = msgspec.structs.replace(TelegramSettings(), **telegram)
    return Settings(channels=ChannelsSettings(telegram=wanted))


def opened(settings: Settings, folder: Path, environ: dict[str, str] | None = None) -> list[str]:
    reach = PlatformContext(Paths(None, folder), environ or {}, HttpClient(), SystemClock())
    return [channel.name for channel in open_channels(settings, reach)]


def told(settings: Settings, environ: dict[str, str]) -> list[str]:
    return [secret.reveal() for secret in secrets(settings, environ) if secret]


def test_without_a_table_there_is_no_platform(tmp_path: Path) -> None:
    assert opened(Settings(), tmp_path, {"BARNACLE_TELEGRAM_TOKEN": TOKEN}) == []


def test_a_table_with_a_token_is_a_platform(tmp_path: Path) -> None:
    assert opened(configured(token=Secret(TOKEN)), tmp_path) == ["telegram"]


def test_a_token_comes_from_a_file_the_environment_or_systemd(tmp_path: Path) -> None:
    (tmp_path / "telegram_token").write_text(f"{TOKEN}\n")
    file = configured(token_file=str(tmp_path / "telegram_token"))
    for settings, environ in (
        (file, {}),
        (configured(), {"BARNACLE_TELEGRAM_TOKEN": TOKEN}),
        (configured(), {"CREDENTIALS_DIRECTORY": str(tmp_path)}),
    ):
        assert opened(settings, tmp_path, environ) == ["telegram"]
        assert told(settings, environ) == [TOKEN]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (configured(), "has no token: ask @BotFather"),
        (configured(token=Secret("hunter2")), "expected a token from @BotFather"),
        (configured(token=Secret("123456:abc/../sendMessage")), "expected a token from @BotFather"),
        (configured(token_file="/nowhere/token"), "cannot read /nowhere/token"),
    ],
)
def test_what_cannot_be_used_is_refused_without_repeating_it(
    settings: Settings, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigRefused, match=reason) as caught:
        opened(settings, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_a_key_is_for_the_service_that_gave_it() -> None:
    """A speech service at another address gets no key that was not meant for it."""
    environ = {"OPENAI_API_KEY": "sk-openai"}
    theirs = Settings(channels=ChannelsSettings(speech=SpeechSettings()))
    other = SpeechSettings(base_url="http://192.168.1.20:8000/v1")
    ours = Settings(channels=ChannelsSettings(speech=other))
    assert told(theirs, environ) == ["sk-openai"]
    assert told(ours, environ) == []


def test_the_commands_are_what_platforms_take() -> None:
    assert all(name.isascii() and name.islower() and len(name) <= 32 for name, _ in COMMANDS)
    assert all(1 <= len(words) <= 256 for _, words in COMMANDS)
