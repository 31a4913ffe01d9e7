"""Discord, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.discord.api import DiscordApi
from agent.channels.discord.channel import DiscordChannel, identify
from agent.channels.discord.limits import Limits
from agent.channels.settings import ChannelsSettings, DiscordSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

# It goes into a header: nothing else may be smuggled in with it
_BOT_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}\.[A-Za-z0-9_-]{1,100}\.[A-Za-z0-9_-]{1,200}")


class Discord(Platform):
    """A bot that people write to."""

    name = DiscordChannel.name
    about = "a bot that people write to, in private and in servers"
    wanted = (
        Wanted(
            "token",
            "The bot's token",
            "At discord.com/developers make an application; its page Bot gives a token. Switch on "
            "Message Content Intent there.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return DiscordChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Discord()


def _wanted(channels: ChannelsSettings) -> DiscordSettings:
    return channels.discord or DiscordSettings()


def _api(channels: ChannelsSettings, reach: Reach) -> DiscordApi:
    """The bot of the configuration.

    Raises:
        ConfigRefused: there is no token, or none that is one.
    """
    wanted = _wanted(channels)
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.discord has no token: make an application at "
            "https://discord.com/developers/applications, reset the token on its page Bot, and set "
            "token_file or token, or BARNACLE_DISCORD_TOKEN"
        )
    return DiscordApi(token, wanted.base_url, reach.http, Limits(reach.clock))


def _token(wanted: DiscordSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("discord_token", wanted.token, wanted.token_file, environ)
    if token and not _BOT_TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            "channels.discord.token is no token of a bot: it has three parts with points between, "
            "and neither 'Bot' nor spaces"
        )
    return token
