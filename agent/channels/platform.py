"""Base of the platforms: builds a channel from settings and describes it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings
from agent.config import ConfigSection, Secret
from agent.errors import ConfigRefused
from agent.link.base import Board
from agent.net.http import HttpClient
from agent.system.clock import Clock

COMMANDS = (
    ("help", "show what you can type"),
    ("new", "begin a new conversation"),
    ("status", "show the device, the board and the model"),
    ("stop", "stop the running turn"),
    ("estop", "emergency stop: every output safe"),
    ("memory", "show what is remembered of you"),
    ("model", "show or choose the model"),
    ("models", "list the models"),
    ("board", "show the boards and what is wired to them"),
    ("jobs", "list your jobs"),
    ("files", "list the files that you sent"),
    ("pair", "enter a code to get access"),
)


if TYPE_CHECKING:
    from agent.channels.context import AccountLeft, ChannelContext, GroupMoved
    from agent.channels.mqtt.own_mirror import OwnStates
    from agent.channels.received_files import Knows
    from agent.channels.speech.base import Recogniser
    from agent.readings.series import Series
    from agent.readings.summary import Moment
    from agent.text.echo import OwnSpeech


class ChannelPaths(Protocol):
    """Paths that channels use."""

    @property
    def state_dir(self) -> Path:
        """Return the folder of everything that is kept."""

    @property
    def inbox(self) -> Path:
        """Return the folder of received files."""

    @property
    def workspace(self) -> Path:
        """Return the folder that people and tools work in."""

    @property
    def webhook_db(self) -> Path:
        """Return the database of the webhook."""


class PlatformContext(Struct, frozen=True):
    """Parts that platforms share.

    Args:
        knows: which messages may leave files here.
        boards: for those that show what is wired to them.
        newest: of each recorded reading, for those that show it.
        own_state: gives the state of the device itself, for those that show it.
        own_speech: what the agent says in rooms; None where it says nothing there.
        account_left: ends the account of a person who has left it to whoever comes next.
        group_moved: follows a group whose place the platform has changed.
    """

    paths: ChannelPaths
    environ: Mapping[str, str]
    http: HttpClient
    clock: Clock
    knows: "Knows" = lambda _inbound: True
    boards: Sequence[Board] = ()
    newest: "Callable[[], Mapping[Series, Moment]]" = dict
    own_state: "Callable[[], OwnStates] | None" = None
    own_speech: "OwnSpeech | None" = None
    group_moved: "GroupMoved | None" = None
    account_left: "AccountLeft | None" = None


class SetupKey(Struct, frozen=True):
    """Key of a platform's table, as setup asks for it.

    One that the settings declare a `Secret` is a credential of the service besides.

    Args:
        how: where it is to be had, in a sentence.
        is_needed: without it the platform cannot be used.
        is_list: several, with commas between them.
        only_with: a key without which this one means nothing, and is not asked.
        unless: a key that makes this one needless: it is not asked where that was answered.
    """

    key: str
    question: str
    how: str = ""
    is_secret: bool = False
    is_needed: bool = True
    is_list: bool = False
    only_with: str = ""
    unless: str = ""


class Platform(ABC):
    """Platform with a table in the configuration.

    Args:
        name: of its table in `[channels]`, and of its channel.
        about: what it is, for a list.
        wanted: what has to be asked before it can be used.
        is_pushed: it comes in by the gateway, however it is configured.
        is_confirmed: a real server of it was met; false until a cassette of one is in the tests.
        program_mb: memory that a program of its own takes on the machine beside the agent.
    """

    is_confirmed = True
    program_mb = 0
    name: str
    about: str = ""
    wanted: tuple[SetupKey, ...] = ()
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
    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        """Return the platform's channel.

        Raises:
            ConfigRefused: it cannot be used so.
        """

    @abstractmethod
    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        """Check the account and return it in a sentence, without sending messages.

        Raises:
            ConfigRefused: it cannot be used so.
            ChannelError: it cannot be used, or not now.
        """


def check_gateway(
    platform: Platform,
    channels: ChannelsSettings,
    environ: Mapping[str, str],
    gateway: ConfigSection | None,
) -> None:
    """Check that the gateway is there if the platform needs it.

    Raises:
        ConfigRefused: it comes in by the gateway, and there is none.
    """
    if gateway is None and platform.comes_by_gateway(channels, environ):
        raise ConfigRefused(f"channels.{platform.name} needs the gateway: add a [gateway] table")


def channel_context(
    name: str, channels: ChannelsSettings, reach: PlatformContext
) -> "ChannelContext":
    """Return the parts that a platform's channel shares with the agent."""
    from agent.channels.context import ChannelContext, nobody_left, nothing_follows  # noqa: PLC0415 - as above
    from agent.channels.received_files import ReceivedFiles  # noqa: PLC0415 - platforms alone need it

    return ChannelContext(
        reach.paths.state_dir / name,
        ReceivedFiles(reach.paths.inbox),
        reach.knows,
        open_ears(channels, reach),
        COMMANDS,
        reach.group_moved or nothing_follows,
        reach.account_left or nobody_left,
    )


def open_ears(
    channels: ChannelsSettings, reach: PlatformContext, wake: str = ""
) -> "Recogniser | None":
    """Return the engine that writes down and knows the boards' things; None without one.

    Args:
        wake: what sentences may begin with.
    """
    if channels.speech is None:
        return None
    from agent.channels.speech.engines import SpeechParts, open_recogniser  # noqa: PLC0415 - most agents have none
    from agent.channels.speech.grammar import names_of  # noqa: PLC0415 - as above

    names = partial(names_of, reach.boards)
    around = SpeechParts(reach.environ, reach.http, reach.paths.workspace, names, wake)
    return open_recogniser(channels.speech, around)
