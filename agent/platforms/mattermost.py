"""Mattermost, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.mattermost.api import MattermostApi
from agent.channels.mattermost.channel import MattermostChannel, identify
from agent.channels.settings import ChannelsSettings, MattermostSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

# It goes into a header: nothing else may be smuggled in with it
_TOKEN = re.compile(r"[A-Za-z0-9._-]{8,500}")


class Mattermost(Platform):
    """A bot on a server of one's own."""

    name = MattermostChannel.name
    about = "a bot on a Mattermost server, in private, in channels and threads"
    wanted = (
        Wanted("base_url", "The server, such as https://chat.example.org"),
        Wanted(
            "token",
            "The bot's token",
            "Made under Integrations > Bot Accounts; shown once.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return MattermostChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Mattermost()


def _wanted(channels: ChannelsSettings) -> MattermostSettings:
    return channels.mattermost or MattermostSettings()


def _api(channels: ChannelsSettings, reach: Reach) -> MattermostApi:
    """The bot of the configuration.

    Raises:
        ConfigRefused: it cannot be used so.
    """
    wanted = _wanted(channels)
    if not wanted.base_url:
        raise ConfigRefused(
            "channels.mattermost has no base_url: set it to the server, such as "
            "https://chat.example.org"
        )
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.mattermost has no token: make a bot under Integrations > Bot Accounts, and "
            "set token_file or token, or BARNACLE_MATTERMOST_TOKEN"
        )
    return MattermostApi(token, wanted.base_url, reach.http)


def _token(wanted: MattermostSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("mattermost_token", wanted.token, wanted.token_file, environ)
    if token and not _TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            "channels.mattermost.token is no token: it has letters and digits, and no 'Bearer'"
        )
    return token
