"""DingTalk, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.dingtalk.api import DingTalkApi
from agent.channels.dingtalk.channel import DingTalkChannel
from agent.channels.settings import ChannelsSettings, DingTalkSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class DingTalk(Platform):
    """An app's robot that people write to."""

    name = DingTalkChannel.name
    about = "a robot in DingTalk, by Stream mode"
    wanted = (
        Wanted("client_id", "The app's Client ID", "ding..., on the app's page Credentials"),
        Wanted("client_secret", "The app's Client Secret", "beside it", is_secret=True),
        Wanted(
            "base_url",
            "Its address, https://api.dingtalk.io for organisations outside China",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return DingTalkChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        api = _api(channels, reach)
        await api.check()
        # Whether messages can come is not the token's to say
        await api.endpoint()
        return f"the app {api.client_id} is there, and hears by Stream mode"


PLATFORM = DingTalk()


def _wanted(channels: ChannelsSettings) -> DingTalkSettings:
    return channels.dingtalk or DingTalkSettings()


def _secret(wanted: DingTalkSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret(
        "dingtalk_client_secret", wanted.client_secret, wanted.client_secret_file, environ
    )


def _api(channels: ChannelsSettings, reach: Reach) -> DingTalkApi:
    """The app of the configuration.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _CLIENT_ID.fullmatch(wanted.client_id) or not secret:
        raise ConfigRefused(
            "channels.dingtalk needs client_id and client_secret of an app with a robot that you "
            "make at https://open-dev.dingtalk.com; set client_secret_file or client_secret, or "
            "BARNACLE_DINGTALK_CLIENT_SECRET"
        )
    return DingTalkApi(wanted.client_id, secret, wanted.base_url, reach.http, reach.clock)
