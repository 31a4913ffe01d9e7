"""Base of every platform: its description for the rest of the composition."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings
from agent.clock import Clock
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.settings import GatewaySettings
from agent.http import HttpClient
from agent.link.base import Board
from agent.settings import Paths

if TYPE_CHECKING:
    from agent.channels.keeping import Knows
    from agent.channels.place import Place


@dataclass(frozen=True, slots=True)
class Reach:
    """Parts that platforms share.

    Args:
        knows: which messages may leave files here.
        boards: for those that show what is wired to them.
    """

    paths: Paths
    environ: Mapping[str, str]
    http: HttpClient
    clock: Clock
    knows: "Knows" = lambda _inbound: True
    boards: Sequence[Board] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A key of a platform's table, as a person is asked for it.

    One that the settings declare a `Secret` is a credential of the service besides.

    Args:
        how: where it is to be had, in a sentence.
        is_needed: without it the platform cannot be used.
        is_list: several, with commas between them.
    """

    key: str
    question: str
    how: str = ""
    is_secret: bool = False
    is_needed: bool = True
    is_list: bool = False


class Platform(ABC):
    """A platform whose table is in the configuration.

    Args:
        name: of its table in `[channels]`, and of its channel.
        about: what it is, for a list.
        wanted: what has to be asked before it can be used.
        is_pushed: it comes in by the gateway, however it is configured.
    """

    name: str
    about: str = ""
    wanted: tuple[Wanted, ...] = ()
    is_pushed = False

    @abstractmethod
    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        """Yield the platform's secrets, for redaction; empty ones may be among them.

        Raises:
            ConfigRefused: one cannot be read.
        """

    def comes_by_gateway(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> bool:
        """Return true if the platform needs the gateway as it is configured.

        Raises:
            ConfigRefused: that cannot be told.
        """
        return self.is_pushed

    @abstractmethod
    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        """Its channel.

        Raises:
            ConfigRefused: it cannot be used so.
        """

    @abstractmethod
    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        """Return the agent's account and its way to hear, in a sentence, without traffic.

        Raises:
            ConfigRefused: it cannot be used so.
            ChannelError: it cannot be used, or not now.
        """


def check_gateway(
    platform: Platform,
    channels: ChannelsSettings,
    environ: Mapping[str, str],
    gateway: GatewaySettings | None,
) -> None:
    """Check that the platform can come in.

    Raises:
        ConfigRefused: it comes in by the gateway, and there is none.
    """
    if gateway is None and platform.comes_by_gateway(channels, environ):
        raise ConfigRefused(
            f"channels.{platform.name} comes in by the gateway: add a [gateway] table"
        )


def place_of(name: str, channels: ChannelsSettings, reach: Reach) -> "Place":
    """Return the place that a platform's channel shares with the rest of the agent."""
    from agent.channels.keeping import Keeping  # noqa: PLC0415 - platforms alone need it
    from agent.channels.place import Place  # noqa: PLC0415 - as above
    from agent.platforms.commands import COMMANDS  # noqa: PLC0415 - as above
    from agent.platforms.speech import transcriber  # noqa: PLC0415 - as above

    return Place(
        reach.paths.state_dir / name,
        Keeping(reach.paths.inbox),
        reach.knows,
        transcriber(channels, reach.environ, reach.http),
        COMMANDS,
    )
