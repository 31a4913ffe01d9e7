"""ntfy, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.ntfy.api import NtfyApi
from agent.channels.ntfy.channel import NtfyChannel
from agent.channels.settings import ChannelsSettings, NtfySettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret


class Ntfy(Platform):
    """A topic that telephones subscribe to."""

    name = NtfyChannel.name
    about = "a topic that telephones subscribe to"
    wanted = (
        Wanted("base_url", "The server", "ntfy.sh is everybody's; one of your own is better."),
        Wanted("topic", "The topic: whoever knows its name may read and write there"),
        Wanted("token", "Its token, tk_..., where it has one", is_secret=True, is_needed=False),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return NtfyChannel(_api(channels, reach), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        api = _api(channels, reach)
        await api.may_read()
        name = await api.account()
        return f"the topic at {api.url} is ours to read{f', as {name}' if name else ''}"


PLATFORM = Ntfy()


def _wanted(channels: ChannelsSettings) -> NtfySettings:
    return channels.ntfy or NtfySettings()


def _token(wanted: NtfySettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("ntfy_token", wanted.token, wanted.token_file, environ)


def _api(channels: ChannelsSettings, reach: Reach) -> NtfyApi:
    wanted = _wanted(channels)
    if not wanted.topic:
        raise ConfigRefused(
            "channels.ntfy has no topic: choose one that nobody guesses (`openssl rand -hex 12`); "
            "whoever knows it can write and read there"
        )
    return NtfyApi(wanted.base_url, wanted.topic, _token(wanted, reach.environ), reach.http)
