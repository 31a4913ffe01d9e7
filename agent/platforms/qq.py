"""QQ, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.qq.api import QqApi
from agent.channels.qq.channel import QqChannel, identify
from agent.channels.qq.windows import Windows
from agent.channels.settings import ChannelsSettings, QqSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

_APP_ID = re.compile(r"[0-9]{1,32}")


class Qq(Platform):
    """A bot of QQ's platform for official bots."""

    name = QqChannel.name
    about = "a bot on QQ, for private messages, groups and guilds"
    wanted = (
        Wanted("app_id", "The bot's AppID", "A number, on the bot's page at https://q.qq.com"),
        Wanted("app_secret", "Its AppSecret", "Beside it; it is shown once", is_secret=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        wanted, place = _wanted(channels), place_of(self.name, channels, reach)
        api = _api(channels, reach)
        windows = Windows(place.folder / "windows.json", api.app_id, reach.clock)
        return QqChannel(api, wanted.groups, windows, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Qq()


def _wanted(channels: ChannelsSettings) -> QqSettings:
    return channels.qq or QqSettings()


def _secret(wanted: QqSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("qq_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _api(channels: ChannelsSettings, reach: Reach) -> QqApi:
    """The bot of the configuration.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _APP_ID.fullmatch(wanted.app_id) or not secret:
        raise ConfigRefused(
            "channels.qq needs app_id and app_secret of a bot that you make at https://q.qq.com: "
            "set app_secret_file or app_secret, or BARNACLE_QQ_APP_SECRET"
        )
    urls = (wanted.base_url, wanted.auth_url)
    return QqApi(wanted.app_id, secret, urls, reach.http, reach.clock)
