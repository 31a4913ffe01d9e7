"""iMessage, which there is no way to from here: said plainly, to whoever configures it."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach

WHY = (
    "channels.imessage cannot be used: Apple lets messages go through a Mac with its own program "
    "alone, and this is none. Take the table out; over Signal the agent reaches the same telephone"
)


class Imessage(Platform):
    """Nothing that works."""

    name = "imessage"
    about = "not from here: Apple's messages go through a Mac alone"

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        """None."""
        yield from ()

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        raise ConfigRefused(WHY)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        raise ConfigRefused(WHY)


PLATFORM = Imessage()
