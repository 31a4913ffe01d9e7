"""Lark, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.lark.api import LarkApi
from agent.channels.lark.channel import LarkChannel, who
from agent.channels.settings import ChannelsSettings, LarkSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

_APP_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Lark(Platform):
    """An app's bot that people write to."""

    name = LarkChannel.name
    about = "a bot in Lark, or Feishu as it is called in China"
    wanted = (
        Wanted("app_id", "The app's id", "cli_..., on the app's page Credentials"),
        Wanted("app_secret", "The app's secret", "beside it", is_secret=True),
        Wanted(
            "base_url",
            "Its address, https://open.feishu.cn for Feishu",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return LarkChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        api = _api(channels, reach)
        known, name = await who(api)
        # Whether events can come is not the token's to say
        await api.endpoint()
        return f"{name or 'a bot'} (id {known}) is there"


PLATFORM = Lark()


def _wanted(channels: ChannelsSettings) -> LarkSettings:
    return channels.lark or LarkSettings()


def _secret(wanted: LarkSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("lark_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _api(channels: ChannelsSettings, reach: Reach) -> LarkApi:
    """The app of the configuration.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _APP_ID.fullmatch(wanted.app_id) or not secret:
        raise ConfigRefused(
            "channels.lark needs app_id and app_secret of an app that you make at "
            "https://open.larksuite.com/app (https://open.feishu.cn/app for Feishu); set "
            "app_secret_file or app_secret, or BARNACLE_LARK_APP_SECRET"
        )
    return LarkApi(wanted.app_id, secret, wanted.base_url, reach.http, reach.clock)
