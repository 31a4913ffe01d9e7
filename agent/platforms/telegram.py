"""Telegram, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings, TelegramSettings
from agent.channels.telegram.api import TelegramApi
from agent.channels.telegram.channel import TelegramChannel
from agent.channels.telegram.probing import probe
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.http import HttpClient
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

# It is part of an address: nothing else may be smuggled in with it
_BOT_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")


class Telegram(Platform):
    """A bot that people write to."""

    name = TelegramChannel.name
    about = "a bot that people write to"
    wanted = (
        Wanted(
            "token",
            "The bot's token",
            "Write to @BotFather in Telegram, send /newbot, and it gives a token.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        wanted = _wanted(channels)
        api = telegram_api(wanted, reach.environ, reach.http)
        place = place_of(self.name, channels, reach)
        return TelegramChannel(api, wanted, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await probe(telegram_api(_wanted(channels), reach.environ, reach.http))


PLATFORM = Telegram()


def telegram_api(
    wanted: TelegramSettings, environ: Mapping[str, str], http: HttpClient
) -> TelegramApi:
    """The bot of the configuration.

    Raises:
        ConfigRefused: there is no token, or none that is one.
    """
    token = _token(wanted, environ)
    if not token:
        raise ConfigRefused(
            "channels.telegram has no token: ask @BotFather for one and set token_file or token, "
            "or BARNACLE_TELEGRAM_TOKEN"
        )
    return TelegramApi(token, wanted.base_url, http)


def _wanted(channels: ChannelsSettings) -> TelegramSettings:
    return channels.telegram or TelegramSettings()


def _token(wanted: TelegramSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("telegram_token", wanted.token, wanted.token_file, environ)
    if token and not _BOT_TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            "channels.telegram.token is no token of a bot: @BotFather gives one such as 123456:ABC-"
        )
    return token
