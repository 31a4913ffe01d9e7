"""iMessage, composed: by a Mac with a BlueBubbles server, and not without one."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.imessage.api import BlueBubblesApi
from agent.channels.imessage.channel import ImessageChannel, identify
from agent.channels.settings import ChannelsSettings, ImessageSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

WHY = (
    "channels.imessage has no base_url: Apple lets messages go through a Mac with its own program "
    "alone, and this is none. Set it to a BlueBubbles server on a Mac, such as "
    "http://mac.local:1234, or take the table out; over Signal the agent reaches the same telephone"
)


class Imessage(Platform):
    """An account of Apple's on a Mac."""

    name = ImessageChannel.name
    about = "an account on a Mac, by the BlueBubbles server there"
    wanted = (
        Wanted(
            "base_url",
            "The BlueBubbles server, such as http://mac.local:1234",
            "Apple lets messages go through a Mac alone: install it there, from bluebubbles.app.",
        ),
        Wanted("password", "The password in that server's settings", is_secret=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        api, place = _api(channels, reach), place_of(self.name, channels, reach)
        return ImessageChannel(api, _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Imessage()


def _wanted(channels: ChannelsSettings) -> ImessageSettings:
    return channels.imessage or ImessageSettings()


def _password(wanted: ImessageSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("imessage_password", wanted.password, wanted.password_file, environ)


def _api(channels: ChannelsSettings, reach: Reach) -> BlueBubblesApi:
    """The server of the configuration.

    Raises:
        ConfigRefused: there is none, or no password of it.
    """
    wanted = _wanted(channels)
    if not wanted.base_url:
        raise ConfigRefused(WHY)
    password = _password(wanted, reach.environ)
    if not password:
        raise ConfigRefused(
            "channels.imessage has no password: it stands in the BlueBubbles server's settings; "
            "set password_file or password, or BARNACLE_IMESSAGE_PASSWORD"
        )
    return BlueBubblesApi(wanted.base_url, password, reach.http)
