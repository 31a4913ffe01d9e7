"""Signal, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings, SignalSettings
from agent.channels.signal.channel import SignalChannel
from agent.channels.signal.probing import probe
from agent.config import Secret
from agent.platforms.base import Platform, Reach, Wanted, place_of


class Signal(Platform):
    """An account that a signal-cli daemon holds the keys of."""

    name = SignalChannel.name
    about = "an account that a signal-cli daemon holds the keys of"
    wanted = (
        Wanted(
            "account",
            "The account's number, such as +4915112345678",
            "Run `signal-cli daemon --http` and `barnacle signal link` first. Where the daemon has "
            "one account it need not be named.",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        """None: the daemon has them."""
        yield from ()

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return SignalChannel(_wanted(channels), place, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await probe(_wanted(channels), reach.http)


PLATFORM = Signal()


def _wanted(channels: ChannelsSettings) -> SignalSettings:
    return channels.signal or SignalSettings()
